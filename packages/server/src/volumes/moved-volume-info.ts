import { type DataUpload, type DataUploadKind, labelNames } from '@lateen/api'
import type { BackupOperation } from '../operations/backup-operation.ts'
import type { VolumeInfo } from './volume-info.ts'

/** Where the data of a snapshot is that was moved. Capitals are Velero's. */
interface DataMovementInfo {
  dataMover: string
  uploaderType: string
  /** The VolumeSnapshot that the data was read through. It is not there any more. */
  retainedSnapshot?: string
  /** Of the snapshot in the repository. */
  snapshotHandle: string
  operationID: string
  size: number
  incrementalSize?: number
  Phase: string
}

/** The operations that move data, by the objects that they are stored with. */
export function isDataMovement({ spec }: BackupOperation, { plural, group }: typeof DataUploadKind): boolean {
  return (
    spec.postOperationItems?.some(({ Group, Resource }) => Group === group && Resource === plural) ?? false
  )
}

/** The entries after data has moved, with what came of it. One whose object is gone has failed. */
export function settleMovedInfos(
  infos: readonly VolumeInfo[],
  operations: readonly BackupOperation[],
  uploads: readonly DataUpload[],
): VolumeInfo[] {
  const byOperation = new Map(
    uploads.map(upload => [upload.metadata.labels?.[labelNames.asyncOperationId], upload]),
  )
  const known = new Map(operations.map(operation => [operation.spec.operationID, operation]))
  return infos.map(info => {
    const movement = info.snapshotDataMovementInfo as DataMovementInfo | undefined
    const operation = known.get(movement?.operationID ?? '')
    if (movement === undefined || operation === undefined) return info
    const upload = byOperation.get(movement.operationID)
    return upload === undefined
      ? { ...info, result: 'failed' }
      : settled(info, { movement, upload, operation })
  })
}

interface Facts {
  movement: DataMovementInfo
  upload: DataUpload
  operation: BackupOperation
}

function settled(info: VolumeInfo, { movement, upload, operation }: Facts): VolumeInfo {
  const { spec, status = {} } = upload
  const { phase = '', snapshotID = '', progress, incrementalBytes } = status
  const wentWell = phase === 'Completed' && operation.status.phase === 'Completed'
  const snapshotDataMovementInfo: DataMovementInfo = {
    ...movement,
    ...(spec.csiSnapshot && { retainedSnapshot: spec.csiSnapshot.volumeSnapshot }),
    snapshotHandle: snapshotID,
    size: progress?.totalBytes ?? 0,
    ...(incrementalBytes && { incrementalSize: incrementalBytes }),
    Phase: phase,
  }
  return {
    ...info,
    ...(status.startTimestamp && { startTimestamp: status.startTimestamp }),
    ...(status.completionTimestamp && { completionTimestamp: status.completionTimestamp }),
    result: wentWell ? 'succeeded' : 'failed',
    snapshotDataMovementInfo,
  }
}
