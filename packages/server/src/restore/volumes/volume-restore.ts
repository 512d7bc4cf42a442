import type { Backup, PodVolumeBackup, Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { NativeSnapshot, Unavailable } from '../../volumes/volume-backup.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'

/** What the files of a backup say about the data of its volumes. */
export interface BackedUpVolumes {
  /** `-volumeinfo.json.gz`; undefined for backups from before there was one. */
  volumeInfo: readonly VolumeInfo[]
  /** `-volumesnapshots.json.gz`. */
  snapshots: readonly NativeSnapshot[]
  /** `-csi-volumesnapshots.json.gz`, which only old backups have. */
  csiSnapshots: readonly ActionItem[]
  podVolumeBackups: readonly PodVolumeBackup[]
}

/** For backups without volumes. */
export const noBackedUpVolumes: BackedUpVolumes = {
  volumeInfo: [],
  snapshots: [],
  csiSnapshots: [],
  podVolumeBackups: [],
}

/** An entry of `restore-<name>-volumeinfo.json.gz`. Names and capitals are Velero's. */
export interface RestoreVolumeInfo {
  pvcName?: string
  pvcNamespace?: string
  pvName?: string
  restoreMethod?: 'NativeSnapshot' | 'PodVolumeRestore' | 'CSISnapshot'
  snapshotDataMoved: boolean
  csiSnapshotInfo?: object
  snapshotDataMovementInfo?: object
  nativeSnapshotInfo?: object
  pvrInfo?: object
}

/** A volume to be made from its snapshot. */
export interface SnapshotToRestore {
  /** The PersistentVolume with the name that it had; the namespace of its claim is mapped. */
  volume: ActionItem
  snapshot: NativeSnapshot
  backup: Backup
}

/** Makes volumes from snapshots through the storage provider's own API. */
export interface SnapshotRestores {
  /** The PersistentVolume that stands for the new volume; its name may be another. Throws when no volume could be made. */
  restore(
    request: SnapshotToRestore,
    signal: AbortSignal,
  ): Promise<{ volume: ActionItem; volumeInfo: RestoreVolumeInfo }>
}

/** A pod with volumes of which there are file system backups. */
export interface PodToRestore {
  /** As the cluster has it now. */
  pod: ActionItem
  /** The namespace that it had. */
  sourceNamespace: string
  podVolumeBackups: readonly PodVolumeBackup[]
  restore: Restore
  backup: Backup
}

/** Writes files of backups into the volumes of restored pods. */
export interface PodVolumeRestores {
  /** Begins to restore the volumes of a pod that was just created, and does not wait for it. */
  begin(request: PodToRestore, signal: AbortSignal): Promise<void>
  /** Waits for all that was begun. */
  finish(signal: AbortSignal): Promise<{ errors: readonly Error[]; volumeInfo: readonly RestoreVolumeInfo[] }>
}

/** Volumes are restored through CSI by actions on claims; this says only that there are any. */
export interface CsiRestores {
  available: true
}

/** The ways of restoring the data of volumes that a server has. */
export interface VolumeRestore {
  snapshots: SnapshotRestores | Unavailable
  podVolumes: PodVolumeRestores | Unavailable
  /** What was moved into the repository can be restored also where no snapshot can. */
  csi: CsiRestores | (Unavailable & { movedIsAvailable?: true })
}

/** For servers and callers that cannot restore data: volumes come back empty, which is an error with this as the reason. */
export const noVolumeRestore: VolumeRestore = {
  snapshots: { unavailable: 'restoring native snapshots is not available without a server' },
  podVolumes: { unavailable: 'restoring file system backups is not available without a server' },
  csi: { unavailable: 'restoring CSI snapshots is not available without a server' },
}
