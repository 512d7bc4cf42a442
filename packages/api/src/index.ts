// The velero.io kinds. Read kind.ts, then v1/backup.ts; schema/ is how kinds are written down.
export { allKinds } from './all-kinds.ts'
export {
  annotationNames,
  backupHookAnnotationNames,
  groupSnapshotClassAnnotation,
  inheritedAnnotations,
  legacySnapshotAnnotation,
  restoreExecHookAnnotationNames,
  restoreInitHookAnnotationNames,
  snapshotClassAnnotation,
} from './annotations.ts'
export { backupOfSchedule, type OwnOfBackup } from './backup-of-schedule.ts'
export { cancelAnnotation, cancelledByRequest, isCancelRequested } from './cancel-request.ts'
export { type CustomResourceDefinition, type CustomResourceVersion, crdFor } from './crd.ts'
export type { DataMoveProgress } from './data-move-progress.ts'
export { finalizerNames } from './finalizers.ts'
export { durationMilliseconds, formatGoDuration, goDurationOf, parseGoDuration } from './go-duration.ts'
export { InvalidTextError } from './invalid-text-error.ts'
export {
  apiVersionOf,
  type CustomObject,
  type KindDescription,
  type PrinterColumn,
  veleroGroup,
} from './kind.ts'
export type { LabelSelector } from './label-selector.ts'
export { inheritedLabels, inheritedTolerations, labelNames } from './labels.ts'
export { lateenAnnotation, lateenPrefix } from './lateen-annotation.ts'
export {
  type BackupRepositoryKey,
  backupRepositoryLabels,
  backupRepositoryName,
  backupSelector,
  generateNameFor,
  maxLabelLength,
  nameOrHash,
  restoreSelector,
  serverStatusRequestGenerateName,
  snapshotGenerateName,
  validLabelValue,
} from './names.ts'
export type { NodeOS } from './node-os.ts'
export type { ObjectMeta, OwnerReference } from './object-meta.ts'
export type { LocalObjectReference, ObjectReference } from './object-reference.ts'
export {
  canMove,
  isTerminal,
  type PhaseDriver,
  type Phased,
  type PhaseMachine,
  type PhaseMove,
  phaseOrStart,
  terminalPhases,
} from './phase-machine.ts'
export type {
  BackupPhase,
  BackupRepositoryPhase,
  DataMovePhase,
  DeleteBackupRequestPhase,
  LocationPhase,
  RequestPhase,
  RestorePhase,
  SchedulePhase,
} from './phases.ts'
export { type ReadResult, readObject } from './read-object.ts'
export { isRestoreWaitState, restoreWaitNames } from './restore-wait.ts'
export { formatTime, parseTime } from './rfc3339.ts'
export { type CheckOptions, checkValue, type SchemaProblem } from './schema/check-value.ts'
export { type OpenApiSchema, toOpenApi } from './schema/open-api.ts'
export type { Infer, Schema } from './schema/schema.ts'
export { withDefaults } from './schema/with-defaults.ts'
export type { SecretKeySelector } from './secret-key-selector.ts'
export { repositoryTypeOf, type UploaderType } from './uploader-type.ts'
export {
  type Backup,
  type BackupHook,
  type BackupHooks,
  BackupKind,
  type BackupSpec,
  type BackupStatus,
} from './v1/backup.ts'
export {
  type BackupRepository,
  BackupRepositoryKind,
  type BackupRepositorySpec,
  type BackupRepositoryStatus,
  type MaintenanceRun,
} from './v1/backup-repository.ts'
export {
  type AccessMode,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type BackupStorageLocationSpec,
  type BackupStorageLocationStatus,
} from './v1/backup-storage-location.ts'
export {
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  type DeleteBackupRequestSpec,
  type DeleteBackupRequestStatus,
} from './v1/delete-backup-request.ts'
export {
  type DownloadRequest,
  DownloadRequestKind,
  type DownloadRequestSpec,
  type DownloadRequestStatus,
  type DownloadTargetKind,
} from './v1/download-request.ts'
export type { HookOnError } from './v1/hook-on-error.ts'
export type { HookStatus } from './v1/hook-status.ts'
export {
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeBackupSpec,
  type PodVolumeBackupStatus,
} from './v1/pod-volume-backup.ts'
export {
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  type PodVolumeRestoreSpec,
  type PodVolumeRestoreStatus,
} from './v1/pod-volume-restore.ts'
export {
  type Restore,
  type RestoreHook,
  type RestoreHooks,
  RestoreKind,
  type RestoreSpec,
  type RestoreStatus,
} from './v1/restore.ts'
export {
  type Schedule,
  ScheduleKind,
  type ScheduleSpec,
  type ScheduleStatus,
} from './v1/schedule.ts'
export {
  type PluginInfo,
  type ServerStatusRequest,
  ServerStatusRequestKind,
  type ServerStatusRequestSpec,
  type ServerStatusRequestStatus,
} from './v1/server-status-request.ts'
export {
  type VolumeSnapshotLocation,
  VolumeSnapshotLocationKind,
  type VolumeSnapshotLocationSpec,
  type VolumeSnapshotLocationStatus,
} from './v1/volume-snapshot-location.ts'
export {
  type DataDownload,
  DataDownloadKind,
  type DataDownloadSpec,
  type DataDownloadStatus,
} from './v2alpha1/data-download.ts'
export {
  type DataUpload,
  DataUploadKind,
  type DataUploadSpec,
  type DataUploadStatus,
} from './v2alpha1/data-upload.ts'
