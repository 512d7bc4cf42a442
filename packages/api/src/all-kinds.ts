import type { KindDescription } from './kind.ts'
import { BackupKind } from './v1/backup.ts'
import { BackupRepositoryKind } from './v1/backup-repository.ts'
import { BackupStorageLocationKind } from './v1/backup-storage-location.ts'
import { DeleteBackupRequestKind } from './v1/delete-backup-request.ts'
import { DownloadRequestKind } from './v1/download-request.ts'
import { PodVolumeBackupKind } from './v1/pod-volume-backup.ts'
import { PodVolumeRestoreKind } from './v1/pod-volume-restore.ts'
import { RestoreKind } from './v1/restore.ts'
import { ScheduleKind } from './v1/schedule.ts'
import { ServerStatusRequestKind } from './v1/server-status-request.ts'
import { VolumeSnapshotLocationKind } from './v1/volume-snapshot-location.ts'
import { DataDownloadKind } from './v2alpha1/data-download.ts'
import { DataUploadKind } from './v2alpha1/data-upload.ts'

/** Every velero.io kind, in the order their CRDs are installed. */
export const allKinds: readonly KindDescription[] = [
  BackupRepositoryKind,
  BackupKind,
  BackupStorageLocationKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
  RestoreKind,
  ScheduleKind,
  ServerStatusRequestKind,
  VolumeSnapshotLocationKind,
  DataDownloadKind,
  DataUploadKind,
]
