import type { BackupStatus } from '@lateen/api'
import { snapshotGroup } from '../csi/snapshot-kinds.ts'
import type { BackupOperation, StoredIdentifier } from '../operations/backup-operation.ts'

/** The action that takes snapshots of claims through CSI. */
export const csiClaimAction = 'velero.io/csi-pvc-backupper'

/** Whether the operation takes a snapshot through CSI that is not moved. Velero's plugin has its operations for snapshots, ours for claims. */
export function isCsiSnapshot({ spec }: BackupOperation): boolean {
  return isSnapshot(spec.resourceIdentifier) || snapshotOfClaim({ spec }) !== undefined
}

/** The VolumeSnapshot that the operation on a claim waits for. */
export function snapshotOfClaim({ spec }: Pick<BackupOperation, 'spec'>): StoredIdentifier | undefined {
  if (spec.backupItemAction !== csiClaimAction) return undefined
  return spec.postOperationItems?.find(isSnapshot)
}

function isSnapshot({ Group, Resource }: StoredIdentifier): boolean {
  return Group === snapshotGroup && Resource === 'volumesnapshots'
}

/** How many snapshots were taken through CSI, as the status of the backup has it. Absent where there are none. */
export function csiAttempts(operations: readonly BackupOperation[]): BackupStatus {
  const attempted = operations.filter(isCsiSnapshot).length
  return attempted === 0 ? {} : { csiVolumeSnapshotsAttempted: attempted }
}

/** How many of them went well. Absent where there are none. */
export function csiCompletions(operations: readonly BackupOperation[]): BackupStatus {
  const completed = operations.filter(each => isCsiSnapshot(each) && each.status.phase === 'Completed').length
  return completed === 0 ? {} : { csiVolumeSnapshotsCompleted: completed }
}
