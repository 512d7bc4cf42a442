import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { labelSelector } from '../label-selector.ts'
import { localObjectReference } from '../object-reference.ts'
import { backupPhaseMachine, backupPhases } from '../phases.ts'
import {
  array,
  boolean,
  duration,
  enumeration,
  integer,
  map,
  nullable,
  object,
  required,
  string,
  strings,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { hookOnError } from './hook-on-error.ts'
import { hookScope } from './hook-scope.ts'
import { hookStatus } from './hook-status.ts'

const backupHook = object('A hook.', {
  exec: required(
    object('A command to run in a container of the pod.', {
      command: required(array('The command and its arguments.', string(''), { minItems: 1 })),
      container: string('The container to run it in; the first one if empty.'),
      onError: hookOnError,
      timeout: duration('How long the command may take.'),
    }),
  ),
})

/** A command to run in a pod before or after it is backed up. */
export interface BackupHook extends Infer<typeof backupHook> {}

const backupHooks = object('Hooks for some pods.', {
  ...hookScope,
  pre: array('Run before the pod and what belongs to it is backed up.', backupHook),
  post: array('Run after the pod and what belongs to it is backed up.', backupHook),
})

/** The hooks of a backup for some pods. */
export interface BackupHooks extends Infer<typeof backupHooks> {}

/** The schema of a {@link BackupSpec}. */
export const backupSpec = object('What to back up, and how.', {
  metadata: object('Metadata for backups made from this template.', {
    labels: map('Labels for backups made from this template.'),
  }),
  includedNamespaces: nullable(strings('Namespaces to back up, patterns allowed; empty means all.')),
  excludedNamespaces: nullable(strings('Namespaces to leave out.')),
  includedResources: nullable(strings('Resources to back up, as resource.group; empty means all.')),
  excludedResources: nullable(strings('Resources to leave out, as resource.group.')),
  includedClusterScopedResources: nullable(
    strings('Resources without a namespace to back up. Not together with includedResources.'),
  ),
  excludedClusterScopedResources: nullable(
    strings('Resources without a namespace to leave out. Not together with excludedResources.'),
  ),
  includedNamespaceScopedResources: nullable(
    strings('Resources with a namespace to back up. Not together with includedResources.'),
  ),
  excludedNamespaceScopedResources: nullable(
    strings('Resources with a namespace to leave out. Not together with excludedResources.'),
  ),
  includeClusterResources: nullable(
    boolean(
      'Whether resources without a namespace are taken; null takes those that belong to what is taken.',
    ),
  ),
  labelSelector: nullable(labelSelector('Labels of what to back up.')),
  orLabelSelectors: nullable(
    array(
      'Several selectors, of which one must match. Not together with labelSelector.',
      labelSelector('Labels of what to back up.'),
    ),
  ),
  orderedResources: nullable(
    map('Objects to back up first and in this order: resource to a list of namespace/name.'),
  ),
  storageLocation: string('The BackupStorageLocation to write to; the default one if empty.'),
  volumeSnapshotLocations: strings('The VolumeSnapshotLocations to use, one for each provider.'),
  ttl: duration('How long to keep the backup.'),
  snapshotVolumes: nullable(boolean('Whether to take snapshots of volumes; null takes them where possible.')),
  snapshotMoveData: nullable(boolean('Whether the data of snapshots is moved to the storage location.')),
  datamover: string('Who moves the data of snapshots; empty or velero means the built-in mover.'),
  defaultVolumesToFsBackup: nullable(
    boolean('Whether pod volumes are backed up from the file system unless a pod says otherwise.'),
  ),
  defaultVolumesToRestic: nullable(boolean('Old name of defaultVolumesToFsBackup.')),
  volumeGroupSnapshotLabelKey: string('The label of claims whose volumes are snapshot together.'),
  csiSnapshotTimeout: duration('How long a CSI snapshot may take to get its handle.'),
  itemOperationTimeout: duration('How long asynchronous operations of plugins may take.'),
  resourcePolicy: localObjectReference('The ConfigMap with the policies for resources and volumes.'),
  uploaderConfig: nullable(
    object('Settings for writing volume data.', {
      parallelFilesUpload: integer('How many files are read at the same time.'),
    }),
  ),
  hooks: object('Commands to run while pods are backed up.', {
    resources: nullable(array('Hooks by the pods they are for.', backupHooks)),
  }),
})

/** What to back up, and how. */
export interface BackupSpec extends Infer<typeof backupSpec> {}

const backupStatus = object('Where the backup stands.', {
  phase: enumeration('The step the backup has reached.', backupPhases),
  version: integer('Major version of the format.'),
  formatVersion: string('Version of the format, with minor and patch.'),
  expiration: time('When the backup may be deleted.'),
  queuePosition: integer('Place in the queue, from 1; 0 when not waiting.'),
  validationErrors: nullable(strings('Why the spec is not valid.')),
  failureReason: string('Why the backup failed as a whole.'),
  startTimestamp: time('When the work began.'),
  completionTimestamp: time('When the work ended.'),
  warnings: integer('Number of warnings in the log.'),
  errors: integer('Number of errors in the log.'),
  progress: nullable(
    object('How far the backup has come.', {
      itemsBackedUp: integer('Objects written so far.'),
      totalItems: integer('Objects known so far; may still grow.'),
    }),
  ),
  volumeSnapshotsAttempted: integer('Volume snapshots begun by plugins.'),
  volumeSnapshotsCompleted: integer('Volume snapshots of plugins that went well.'),
  csiVolumeSnapshotsAttempted: integer('CSI snapshots begun.'),
  csiVolumeSnapshotsCompleted: integer('CSI snapshots that went well.'),
  backupItemOperationsAttempted: integer('Asynchronous operations begun.'),
  backupItemOperationsCompleted: integer('Asynchronous operations that went well.'),
  backupItemOperationsFailed: integer('Asynchronous operations that failed.'),
  hookStatus: nullable(hookStatus),
})

/** Where a backup stands. */
export interface BackupStatus extends Infer<typeof backupStatus> {}

/** A backup of objects and volumes of the cluster. */
export interface Backup extends CustomObject<BackupSpec, BackupStatus> {}

/** The kind Backup. */
export const BackupKind: KindDescription<Backup> = describeKind({
  kind: 'Backup',
  plural: 'backups',
  description: 'A backup of objects and volumes of the cluster.',
  schema: { spec: backupSpec, status: backupStatus },
  phases: backupPhaseMachine,
})
