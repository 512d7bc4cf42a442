import { CsiError } from './csi-error.ts'
import type { DriverState, VolumeRecord } from './driver-state.ts'
import type { FaultControl } from './faults.ts'
import type { KeyedLock } from './keyed-lock.ts'

/** What the driver's services work on. */
export interface Driver {
  readonly name: string
  readonly nodeId: string
  readonly state: DriverState
  readonly locks: KeyedLock
  readonly faults: FaultControl
  /** How much all volumes together may promise to hold. */
  readonly capacityBytes: number
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
}

/** Throws NOT_FOUND where there is no such volume. */
export function existingVolume({ state }: Driver, id: string): VolumeRecord {
  const volume = state.volumes.get(id)
  if (volume === undefined) throw new CsiError('NOT_FOUND', `there is no volume ${id}`)
  return volume
}
