import type { PodVolumeRestore, Restore } from '@lateen/api'
import type { BackupResults, Fetched, ItemOperation, ResourceList, VolumeInfo } from './backup-description.ts'

/** How one volume was restored: an entry of a restore's `-volumeinfo.json.gz`. */
export interface RestoredVolume
  extends Pick<
    VolumeInfo,
    'pvcName' | 'pvcNamespace' | 'snapshotDataMoved' | 'csiSnapshotInfo' | 'snapshotDataMovementInfo'
  > {
  readonly restoreMethod?: string
}

/** All that `describe` shows of a restore. Files that it does not need are undefined. */
export interface RestoreDescription {
  readonly restore: Restore
  readonly podVolumeRestores: readonly PodVolumeRestore[]
  readonly results: Fetched<BackupResults> | undefined
  readonly operations: Fetched<readonly ItemOperation[]> | undefined
  readonly resourceList: Fetched<ResourceList> | undefined
  readonly volumes: Fetched<readonly RestoredVolume[] | null>
  /** Whether to show things one by one. */
  readonly details: boolean
}
