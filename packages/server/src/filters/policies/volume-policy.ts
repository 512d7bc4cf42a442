import type { Quantity } from './quantity.ts'

/** What is done with a volume. */
export const volumeActionTypes = ['skip', 'fs-backup', 'snapshot', 'custom'] as const
export type VolumeActionType = (typeof volumeActionTypes)[number]

/** What a policy wants done with the volumes it matches. */
export interface VolumeAction {
  type: VolumeActionType
  /** For whoever carries the action out. */
  parameters?: Readonly<Record<string, unknown>> | undefined
}

/** Both ends count; an end that is absent is open. */
export interface CapacityRange {
  lower?: Quantity | undefined
  upper?: Quantity | undefined
}

/** All that are present must hold. A condition about something that a volume does not have does not hold. */
export interface VolumeConditions {
  capacity?: CapacityRange | undefined
  storageClass?: readonly string[] | undefined
  /** Without server and path: any NFS volume. */
  nfs?: { server?: string | undefined; path?: string | undefined } | undefined
  /** Without a driver: any CSI volume. */
  csi?:
    | { driver?: string | undefined; volumeAttributes?: Readonly<Record<string, string>> | undefined }
    | undefined
  volumeTypes?: readonly string[] | undefined
  pvcLabels?: Readonly<Record<string, string>> | undefined
  pvcPhase?: readonly string[] | undefined
  pvcVolumeMode?: string | undefined
  /** Exactly these, in any order. */
  pvcAccessModes?: readonly string[] | undefined
}

/** One entry of `volumePolicies`. */
export interface VolumePolicy {
  conditions: VolumeConditions
  action: VolumeAction
}
