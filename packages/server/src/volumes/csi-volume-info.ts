import type { VolumeSnapshot, VolumeSnapshotContent } from '../csi/snapshot-kinds.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { type StoredVolume, type VolumeInfo, volumeInfoOf } from './volume-info.ts'

/** Capitals are Velero's. */
export interface CsiSnapshotInfo {
  snapshotHandle: string
  /** In bytes. */
  size: number
  driver: string
  vscName: string
  operationID?: string
  ReadyToUse: boolean | null
  volumeGroupSnapshotHandle?: string
}

/** A snapshot of a claim that a backup had taken. */
export interface ClaimSnapshot {
  namespace: string
  name: string
  operationId: string
  /** Its content is moved into the repository. */
  moved: boolean
  /** The name of a data mover; empty for the built-in one. */
  dataMover: string
}

/** What the volume info says of a volume while its snapshot is being taken or moved. */
export function begunCsiInfo(snapshot: ClaimSnapshot, volume: StoredVolume): VolumeInfo {
  const { operationId: operationID, moved, dataMover } = snapshot
  const { csiDriver: driver = '' } = volume
  const info = { ...volumeInfoOf(volume), backupMethod: 'CSISnapshot', snapshotDataMoved: moved } as const
  if (!moved) {
    const csiSnapshotInfo: CsiSnapshotInfo = {
      ...{ snapshotHandle: '', size: 0, driver, vscName: '', operationID, ReadyToUse: null },
    }
    return { ...info, preserveLocalSnapshot: true, csiSnapshotInfo }
  }
  const csiSnapshotInfo: CsiSnapshotInfo = {
    ...{ snapshotHandle: unknown, size: 0, driver, vscName: unknown, operationID: unknown, ReadyToUse: null },
  }
  const snapshotDataMovementInfo = {
    ...{ dataMover: dataMover || 'velero', uploaderType: 'kopia', snapshotHandle: '' },
    ...{ operationID, size: 0, Phase: '' },
  }
  return { ...info, csiSnapshotInfo, snapshotDataMovementInfo }
}

/** Velero's word for what is known of no snapshot that is moved. */
const unknown = 'unknown'

/** A snapshot as it is when its operation has ended. */
export interface EndedSnapshot {
  snapshot: VolumeSnapshot
  content: VolumeSnapshotContent
}

/**
 * The entries after the operations of snapshots have ended: with what is known of those that are still there, and with the result of each.
 * The very same where nothing is different.
 */
export function settleCsiInfos(
  infos: readonly VolumeInfo[],
  operations: readonly BackupOperation[],
  snapshots: readonly EndedSnapshot[],
): VolumeInfo[] {
  const byId = new Map(operations.map(operation => [operation.spec.operationID, operation]))
  const byPlace = new Map(
    snapshots.map(each => [`${each.snapshot.metadata.namespace}/${each.snapshot.metadata.name}`, each]),
  )
  return infos.map(info => {
    const known = info.csiSnapshotInfo as CsiSnapshotInfo | undefined
    const operation = byId.get(known?.operationID ?? '')
    if (known === undefined || info.snapshotDataMoved || operation === undefined) return info
    const { Namespace, Name } = operation.spec.postOperationItems?.[0] ?? {}
    const ended = byPlace.get(`${Namespace}/${Name}`)
    return settled(info, { known, operation, ended })
  })
}

interface Facts {
  known: CsiSnapshotInfo
  operation: BackupOperation
  ended: EndedSnapshot | undefined
}

function settled(info: VolumeInfo, { known, operation, ended }: Facts): VolumeInfo {
  const { phase, updated } = operation.status
  const began = ended?.snapshot.status?.creationTime
  return {
    ...info,
    ...(began && { startTimestamp: began }),
    ...(updated && { completionTimestamp: updated }),
    result: phase === 'Completed' ? 'succeeded' : 'failed',
    csiSnapshotInfo: ended === undefined ? known : { ...known, ...seenInfo(ended) },
  }
}

function seenInfo({ snapshot, content }: EndedSnapshot): Partial<CsiSnapshotInfo> {
  const { boundVolumeSnapshotContentName: vscName, readyToUse } = snapshot.status ?? {}
  const { snapshotHandle, volumeGroupSnapshotHandle, restoreSize = 0 } = content.status ?? {}
  return {
    ...(snapshotHandle && { snapshotHandle }),
    ...(vscName && { vscName }),
    size: restoreSize,
    ReadyToUse: readyToUse ?? null,
    ...(volumeGroupSnapshotHandle && { volumeGroupSnapshotHandle }),
  }
}
