import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { labelSelector } from '../label-selector.ts'
import { localObjectReference } from '../object-reference.ts'
import { restorePhaseMachine, restorePhases } from '../phases.ts'
import {
  anyObject,
  array,
  boolean,
  duration,
  enumeration,
  integer,
  map,
  nullable,
  object,
  preserveUnknown,
  required,
  string,
  strings,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { hookOnError } from './hook-on-error.ts'
import { hookScope } from './hook-scope.ts'
import { hookStatus } from './hook-status.ts'

const restoreHook = object('A hook: either exec or init.', {
  exec: object('A command to run in a container of the restored pod.', {
    command: required(array('The command and its arguments.', string(''), { minItems: 1 })),
    container: string('The container to run it in; the first one if empty.'),
    onError: hookOnError,
    execTimeout: duration('How long the command may take.'),
    waitTimeout: duration('How long to wait for the container to run.'),
    waitForReady: nullable(boolean('Whether to wait until the container is ready.')),
  }),
  init: object('Containers to put before those of the restored pod.', {
    initContainers: preserveUnknown(array('The containers.', anyObject('A container.'))),
    timeout: duration('How long the containers may take.'),
  }),
})

/** A command or init container for a pod that is restored. */
export interface RestoreHook extends Infer<typeof restoreHook> {}

const restoreHooks = object('Hooks for some pods.', {
  ...hookScope,
  postHooks: array('Run when the pod is restored.', restoreHook),
})

/** The hooks of a restore for some pods. */
export interface RestoreHooks extends Infer<typeof restoreHooks> {}

const restoreSpec = object('What to restore, and how.', {
  backupName: string('The backup to restore from.'),
  scheduleName: string('The schedule of which the newest completed backup is restored.'),
  includedNamespaces: nullable(strings('Namespaces, as named in the backup, to restore; empty means all.')),
  excludedNamespaces: nullable(strings('Namespaces, as named in the backup, to leave out.')),
  includedResources: nullable(strings('Resources to restore, as resource.group; empty means all.')),
  excludedResources: nullable(strings('Resources to leave out, as resource.group.')),
  includeClusterResources: nullable(
    boolean(
      'Whether resources without a namespace are restored; null restores those that belong to what is restored.',
    ),
  ),
  namespaceMapping: map('Namespaces to restore under another name: old to new.'),
  labelSelector: nullable(labelSelector('Labels of what to restore.')),
  orLabelSelectors: nullable(
    array(
      'Several selectors, of which one must match. Not together with labelSelector.',
      labelSelector('Labels of what to restore.'),
    ),
  ),
  restorePVs: nullable(boolean('Whether volumes are restored from snapshots.')),
  restoreStatus: nullable(
    object('Resources of which the status is restored too; null means none.', {
      includedResources: nullable(strings('Resources with status; empty means all.')),
      excludedResources: nullable(strings('Resources without status.')),
    }),
  ),
  preserveNodePorts: nullable(boolean('Whether services keep their node ports.')),
  existingResourcePolicy: nullable(
    string('What to do with objects that exist: none leaves them, update changes them.'),
  ),
  itemOperationTimeout: duration('How long asynchronous operations of plugins may take.'),
  resourceModifier: nullable(localObjectReference('The ConfigMap with changes to make to objects.')),
  resourcePolicy: nullable(localObjectReference('The ConfigMap with filters for objects.')),
  uploaderConfig: nullable(
    object('Settings for reading volume data.', {
      parallelFilesDownload: integer('How many files are written at the same time.'),
      writeSparseFiles: nullable(boolean('Whether runs of zeros become holes in files.')),
    }),
  ),
  hooks: object('Commands and init containers for restored pods.', {
    resources: array('Hooks by the pods they are for.', restoreHooks),
  }),
})

/** What to restore, and how. */
export interface RestoreSpec extends Infer<typeof restoreSpec> {}

const restoreStatus = object('Where the restore stands.', {
  phase: enumeration('The step the restore has reached.', restorePhases),
  validationErrors: nullable(strings('Why the spec is not valid.')),
  failureReason: string('Why the restore failed as a whole.'),
  startTimestamp: time('When the work began.'),
  completionTimestamp: time('When the work ended.'),
  warnings: integer('Number of warnings in the log.'),
  errors: integer('Number of errors in the log.'),
  progress: nullable(
    object('How far the restore has come.', {
      itemsRestored: integer('Objects restored so far.'),
      totalItems: integer('Objects known so far; may still grow.'),
    }),
  ),
  restoreItemOperationsAttempted: integer('Asynchronous operations begun.'),
  restoreItemOperationsCompleted: integer('Asynchronous operations that went well.'),
  restoreItemOperationsFailed: integer('Asynchronous operations that failed.'),
  hookStatus: nullable(hookStatus),
})

/** Where a restore stands. */
export interface RestoreStatus extends Infer<typeof restoreStatus> {}

/** A restore from a backup into the cluster. */
export interface Restore extends CustomObject<RestoreSpec, RestoreStatus> {}

/** The kind Restore. */
export const RestoreKind: KindDescription<Restore> = describeKind({
  kind: 'Restore',
  plural: 'restores',
  description: 'A restore from a backup into the cluster.',
  schema: { spec: restoreSpec, status: restoreStatus },
  phases: restorePhaseMachine,
})
