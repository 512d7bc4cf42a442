import type { PhaseMachine, PhaseMove } from './phase-machine.ts'

/** The phases of a Backup. */
export const backupPhases = [
  'New',
  'Queued',
  'ReadyToStart',
  'FailedValidation',
  'InProgress',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
  'Completed',
  'PartiallyFailed',
  'Failed',
  'Deleting',
] as const
/** A phase of a Backup. */
export type BackupPhase = (typeof backupPhases)[number]

/** The phases of a Restore. */
export const restorePhases = [
  'New',
  'FailedValidation',
  'InProgress',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Completed',
  'PartiallyFailed',
  'Failed',
  'Finalizing',
  'FinalizingPartiallyFailed',
] as const
/** A phase of a Restore. */
export type RestorePhase = (typeof restorePhases)[number]

/** The phases of the four kinds that move volume data. */
export const dataMovePhases = [
  'New',
  'Accepted',
  'Prepared',
  'InProgress',
  'Canceling',
  'Canceled',
  'Completed',
  'Failed',
] as const
/** A phase of a DataUpload, DataDownload, PodVolumeBackup or PodVolumeRestore. */
export type DataMovePhase = (typeof dataMovePhases)[number]

/** The phases of a Schedule. */
export const schedulePhases = ['New', 'Enabled', 'FailedValidation'] as const
/** A phase of a Schedule. */
export type SchedulePhase = (typeof schedulePhases)[number]

/** The phases of a BackupStorageLocation and of a VolumeSnapshotLocation. */
export const locationPhases = ['Available', 'Unavailable'] as const
/** A phase of a BackupStorageLocation or VolumeSnapshotLocation. */
export type LocationPhase = (typeof locationPhases)[number]

/** The phases of a BackupRepository. */
export const backupRepositoryPhases = ['New', 'Ready', 'NotReady'] as const
/** A phase of a BackupRepository. */
export type BackupRepositoryPhase = (typeof backupRepositoryPhases)[number]

/** The phases of a DeleteBackupRequest. */
export const deleteBackupRequestPhases = ['New', 'InProgress', 'Processed'] as const
/** A phase of a DeleteBackupRequest. */
export type DeleteBackupRequestPhase = (typeof deleteBackupRequestPhases)[number]

/** The phases of a DownloadRequest and of a ServerStatusRequest. */
export const requestPhases = ['New', 'Processed'] as const
/** A phase of a DownloadRequest or ServerStatusRequest. */
export type RequestPhase = (typeof requestPhases)[number]

/**
 * Backups found in a bucket are created with the phase they ended in, which is no move.
 * A backup leaves `Deleting` by being gone; after a failed deletion it stays there.
 */
export const backupPhaseMachine: PhaseMachine<BackupPhase> = {
  phases: backupPhases,
  terminal: ['FailedValidation', 'Completed', 'PartiallyFailed', 'Failed'],
  moves: [
    { from: 'New', to: 'Queued', by: 'backup-queue', when: 'seen' },
    { from: 'New', to: 'Failed', by: 'backup', when: 'it was cancelled' },
    { from: 'Queued', to: 'Failed', by: 'backup', when: 'it was cancelled' },
    {
      from: 'Queued',
      to: 'ReadyToStart',
      by: 'backup-queue',
      when: 'a slot is free and no running or earlier backup shares a namespace',
    },
    { from: 'ReadyToStart', to: 'FailedValidation', by: 'backup', when: 'the spec is not valid' },
    { from: 'ReadyToStart', to: 'InProgress', by: 'backup', when: 'the spec is valid' },
    {
      from: 'ReadyToStart',
      to: 'Failed',
      by: 'backup',
      when: 'the storage location cannot be used or holds the name already, or it was cancelled',
    },
    {
      from: 'InProgress',
      to: 'Failed',
      by: 'backup',
      when: 'a fatal error, it was cancelled, or the server restarted',
    },
    {
      from: 'InProgress',
      to: 'WaitingForPluginOperations',
      by: 'backup',
      when: 'operations are outstanding',
    },
    {
      from: 'InProgress',
      to: 'WaitingForPluginOperationsPartiallyFailed',
      by: 'backup',
      when: 'operations are outstanding and there were errors',
    },
    { from: 'InProgress', to: 'Finalizing', by: 'backup', when: 'no operation is outstanding' },
    {
      from: 'InProgress',
      to: 'FinalizingPartiallyFailed',
      by: 'backup',
      when: 'no operation is outstanding and there were errors',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'WaitingForPluginOperationsPartiallyFailed',
      by: 'backup-operations',
      when: 'an operation failed or timed out',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'Finalizing',
      by: 'backup-operations',
      when: 'all operations ended well',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'FinalizingPartiallyFailed',
      by: 'backup-operations',
      when: 'the last operation ended and one failed',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'Failed',
      by: 'backup-operations',
      when: 'it was cancelled, and the storage location is gone',
    },
    {
      from: 'WaitingForPluginOperationsPartiallyFailed',
      to: 'FinalizingPartiallyFailed',
      by: 'backup-operations',
      when: 'all operations ended',
    },
    {
      from: 'WaitingForPluginOperationsPartiallyFailed',
      to: 'Failed',
      by: 'backup-operations',
      when: 'it was cancelled, and the storage location is gone',
    },
    { from: 'Finalizing', to: 'Completed', by: 'backup-finalizer', when: 'the archive is final' },
    {
      from: 'Finalizing',
      to: 'PartiallyFailed',
      by: 'backup-finalizer',
      when: 'the last steps had errors, or it was cancelled',
    },
    {
      from: 'Finalizing',
      to: 'Failed',
      by: 'backup-finalizer',
      when: 'it was cancelled, and the storage location is gone',
    },
    {
      from: 'FinalizingPartiallyFailed',
      to: 'Failed',
      by: 'backup-finalizer',
      when: 'it was cancelled, and the storage location is gone',
    },
    {
      from: 'FinalizingPartiallyFailed',
      to: 'PartiallyFailed',
      by: 'backup-finalizer',
      when: 'the archive is final',
    },
    { from: 'New', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    { from: 'Queued', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    { from: 'ReadyToStart', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    {
      from: 'WaitingForPluginOperations',
      to: 'Deleting',
      by: 'backup-deletion',
      when: 'deletion was requested',
    },
    {
      from: 'WaitingForPluginOperationsPartiallyFailed',
      to: 'Deleting',
      by: 'backup-deletion',
      when: 'deletion was requested',
    },
    { from: 'Finalizing', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    {
      from: 'FinalizingPartiallyFailed',
      to: 'Deleting',
      by: 'backup-deletion',
      when: 'deletion was requested',
    },
    { from: 'FailedValidation', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    { from: 'Completed', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    { from: 'PartiallyFailed', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
    { from: 'Failed', to: 'Deleting', by: 'backup-deletion', when: 'deletion was requested' },
  ],
}

/** How restores move. */
export const restorePhaseMachine: PhaseMachine<RestorePhase> = {
  phases: restorePhases,
  terminal: ['FailedValidation', 'Completed', 'PartiallyFailed', 'Failed'],
  moves: [
    { from: 'New', to: 'FailedValidation', by: 'restore', when: 'the spec is not valid' },
    { from: 'New', to: 'InProgress', by: 'restore', when: 'the spec is valid' },
    { from: 'New', to: 'Failed', by: 'restore', when: 'it was cancelled' },
    {
      from: 'InProgress',
      to: 'Failed',
      by: 'restore',
      when: 'a fatal error, it was cancelled, or the server restarted',
    },
    {
      from: 'InProgress',
      to: 'WaitingForPluginOperations',
      by: 'restore',
      when: 'operations are outstanding',
    },
    {
      from: 'InProgress',
      to: 'WaitingForPluginOperationsPartiallyFailed',
      by: 'restore',
      when: 'operations are outstanding and there were errors',
    },
    { from: 'InProgress', to: 'Finalizing', by: 'restore', when: 'no operation is outstanding' },
    {
      from: 'InProgress',
      to: 'FinalizingPartiallyFailed',
      by: 'restore',
      when: 'no operation is outstanding and there were errors',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'WaitingForPluginOperationsPartiallyFailed',
      by: 'restore-operations',
      when: 'an operation failed, timed out or was cancelled',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'Finalizing',
      by: 'restore-operations',
      when: 'all operations ended well',
    },
    {
      from: 'WaitingForPluginOperations',
      to: 'FinalizingPartiallyFailed',
      by: 'restore-operations',
      when: 'the last operation ended and one failed, or the backup is gone',
    },
    {
      from: 'WaitingForPluginOperationsPartiallyFailed',
      to: 'FinalizingPartiallyFailed',
      by: 'restore-operations',
      when: 'all operations ended, or the backup is gone',
    },
    { from: 'Finalizing', to: 'Completed', by: 'restore-finalizer', when: 'the last steps went well' },
    {
      from: 'Finalizing',
      to: 'PartiallyFailed',
      by: 'restore-finalizer',
      when: 'the last steps had errors, or it was cancelled',
    },
    {
      from: 'FinalizingPartiallyFailed',
      to: 'PartiallyFailed',
      by: 'restore-finalizer',
      when: 'the last steps are done',
    },
  ],
}

const dataMoves: readonly PhaseMove<DataMovePhase>[] = [
  { from: 'New', to: 'Accepted', by: 'node-agent', when: 'a node agent takes it' },
  { from: 'New', to: 'Canceled', by: 'node-agent', when: 'cancel is set' },
  {
    from: 'New',
    to: 'Failed',
    by: 'node-agent',
    when: 'nothing here can expose this sort of volume; by the server, when its node or pod is gone',
  },
  { from: 'Accepted', to: 'Prepared', by: 'node-agent', when: 'the pod that exposes the volume runs' },
  { from: 'Accepted', to: 'Canceled', by: 'node-agent', when: 'cancel is set, or the pod cannot start' },
  { from: 'Accepted', to: 'Failed', by: 'node-agent', when: 'exposing failed or took too long' },
  { from: 'Prepared', to: 'InProgress', by: 'node-agent', when: 'the node has a free data path' },
  { from: 'Prepared', to: 'Canceled', by: 'node-agent', when: 'cancel is set' },
  { from: 'Prepared', to: 'Failed', by: 'node-agent', when: 'the exposed volume cannot be used' },
  { from: 'InProgress', to: 'Completed', by: 'node-agent', when: 'the mover pod reports success' },
  { from: 'InProgress', to: 'Failed', by: 'node-agent', when: 'the mover pod reports an error or is lost' },
  { from: 'InProgress', to: 'Canceling', by: 'node-agent', when: 'cancel is set' },
  { from: 'InProgress', to: 'Canceled', by: 'node-agent', when: 'cancel is set and no data path runs' },
  { from: 'Canceling', to: 'Canceled', by: 'node-agent', when: 'the mover stopped, or did not in time' },
  { from: 'Canceling', to: 'Completed', by: 'node-agent', when: 'the mover was done before it saw cancel' },
  { from: 'Canceling', to: 'Failed', by: 'node-agent', when: 'the mover failed before it saw cancel' },
]

/** How DataUploads, DataDownloads and PodVolumeBackups move. */
export const dataMovePhaseMachine: PhaseMachine<DataMovePhase> = {
  phases: dataMovePhases,
  terminal: ['Completed', 'Failed', 'Canceled'],
  moves: dataMoves,
}

/** Like the other data moves, but restic data is restored by the node agent itself, without a pod to prepare. */
export const podVolumeRestorePhaseMachine: PhaseMachine<DataMovePhase> = {
  ...dataMovePhaseMachine,
  moves: [
    ...dataMoves,
    { from: 'New', to: 'InProgress', by: 'node-agent', when: 'the data is in restic format' },
  ],
}

/** A schedule is validated again at every look, so it may come and go. */
export const schedulePhaseMachine: PhaseMachine<SchedulePhase> = {
  phases: schedulePhases,
  terminal: [],
  moves: [
    { from: 'New', to: 'Enabled', by: 'schedule', when: 'the cron expression is valid' },
    { from: 'New', to: 'FailedValidation', by: 'schedule', when: 'the cron expression is not valid' },
    { from: 'Enabled', to: 'FailedValidation', by: 'schedule', when: 'it was changed to something invalid' },
    { from: 'FailedValidation', to: 'Enabled', by: 'schedule', when: 'it was corrected' },
  ],
}

/** Storage locations have no `New`: before the first validation the phase is empty. */
export const backupStorageLocationPhaseMachine: PhaseMachine<LocationPhase> = {
  phases: locationPhases,
  terminal: [],
  moves: [
    { from: '', to: 'Available', by: 'backup-storage-location', when: 'the store answers as it should' },
    { from: '', to: 'Unavailable', by: 'backup-storage-location', when: 'the store does not' },
    {
      from: 'Available',
      to: 'Unavailable',
      by: 'backup-storage-location',
      when: 'the store fails validation',
    },
    { from: 'Unavailable', to: 'Available', by: 'backup-storage-location', when: 'the store is back' },
  ],
}

/** How backup repositories move; one that is not ready is tried again. */
export const backupRepositoryPhaseMachine: PhaseMachine<BackupRepositoryPhase> = {
  phases: backupRepositoryPhases,
  terminal: [],
  moves: [
    { from: 'New', to: 'Ready', by: 'backup-repository', when: 'it was opened or created' },
    { from: 'New', to: 'NotReady', by: 'backup-repository', when: 'it could not be opened' },
    {
      from: 'Ready',
      to: 'NotReady',
      by: 'backup-repository',
      when: 'its storage location changed or is gone',
    },
    { from: 'NotReady', to: 'Ready', by: 'backup-repository', when: 'a later try opened it' },
  ],
}

/** How deletion requests move; one that cannot be carried out is processed with errors. */
export const deleteBackupRequestPhaseMachine: PhaseMachine<DeleteBackupRequestPhase> = {
  phases: deleteBackupRequestPhases,
  terminal: ['Processed'],
  moves: [
    { from: 'New', to: 'InProgress', by: 'backup-deletion', when: 'the backup may be deleted' },
    { from: 'New', to: 'Processed', by: 'backup-deletion', when: 'the backup may not be deleted' },
    { from: 'InProgress', to: 'Processed', by: 'backup-deletion', when: 'the deletion ended' },
  ],
}

/** How download requests move. */
export const downloadRequestPhaseMachine: PhaseMachine<RequestPhase> = {
  phases: requestPhases,
  terminal: ['Processed'],
  moves: [{ from: 'New', to: 'Processed', by: 'download-request', when: 'the URL was made' }],
}

/** How server status requests move. */
export const serverStatusRequestPhaseMachine: PhaseMachine<RequestPhase> = {
  phases: requestPhases,
  terminal: ['Processed'],
  moves: [{ from: 'New', to: 'Processed', by: 'server-status-request', when: 'the server answered' }],
}
