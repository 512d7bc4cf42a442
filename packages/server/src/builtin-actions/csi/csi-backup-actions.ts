import type { BackupItemAction, Registered } from '@lateen/plugin'
import { type CsiBackupOptions, csiClaimBackupAction } from './claim-backup-action.ts'
import { csiClassBackupAction } from './class-backup-action.ts'
import { csiContentBackupAction } from './content-backup-action.ts'
import { movesDataByPolicy } from './moves-data.ts'
import { csiSnapshotBackupAction } from './snapshot-backup-action.ts'

/** The actions that take snapshots through CSI and store what belongs to them, under Velero's names and in its order. */
export function csiBackupActions(options: CsiBackupOptions): Registered<BackupItemAction>[] {
  const movesData = options.movesData ?? movesDataByPolicy(options.client)
  return [
    { name: 'velero.io/csi-pvc-backupper', action: csiClaimBackupAction({ ...options, movesData }) },
    { name: 'velero.io/csi-volumesnapshot-backupper', action: csiSnapshotBackupAction(options) },
    { name: 'velero.io/csi-volumesnapshotclass-backupper', action: csiClassBackupAction },
    { name: 'velero.io/csi-volumesnapshotcontent-backupper', action: csiContentBackupAction(options) },
  ]
}
