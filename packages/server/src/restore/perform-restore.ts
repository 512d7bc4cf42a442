import {
  type Backup,
  cancelledByRequest,
  type HookStatus,
  type PodVolumeBackup,
  type Restore,
  type RestorePhase,
  type RestoreStatus,
} from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupFile } from '../backup-store/bucket-layout.ts'
import type { ResourcePolicies } from '../filters/policies/resource-policies.ts'
import { type BegunOperations, createOperationJournal } from '../operations/operation-journal.ts'
import { restoreOperationPorts } from '../operations/plugin-answers.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSession, PluginSessions } from '../plugin-host/plugin-session.ts'
import { createBackupLog } from '../report/backup-log.ts'
import type { LogLevel } from '../report/log-line.ts'
import type { BackupLog } from '../report/report.ts'
import { createScratchFolder } from '../scratch/scratch-folder.ts'
import type { OpenSnapshotters } from '../volumes/snapshotters.ts'
import type { NativeSnapshot } from '../volumes/volume-backup.ts'
import type { VolumeInfo } from '../volumes/volume-info.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import type { BackupArchive } from './archive/backup-archive.ts'
import { openBackupArchive } from './archive/open-backup-archive.ts'
import { mergeResults } from './hooks/merge-results.ts'
import { RestoreExecHooks } from './hooks/restore-exec-hooks.ts'
import { RestoreReport } from './items/restore-report.ts'
import { applyModifiers } from './modifiers/apply-modifiers.ts'
import type { ResourceModifiers } from './modifiers/resource-modifiers.ts'
import type { Priorities } from './order/priorities.ts'
import type { RestoreOutcome, RestoreProgress, RestoreTimeouts } from './restore-request.ts'
import { runRestore } from './run-restore.ts'
import {
  journalOwnerOf,
  type SettledOperations,
  settleOperations,
  stopOperations,
} from './settle-operations.ts'
import { createClusterSink } from './sink/cluster-sink.ts'
import type { RequestGate } from './sink/request-gate.ts'
import { storeRestoreFiles } from './store-restore-files.ts'
import { createSnapshotRestores } from './volumes/native-snapshot-restores.ts'
import type { BackedUpVolumes, PodVolumeRestores, VolumeRestore } from './volumes/volume-restore.ts'

/** What restores are performed with; the same for all of one server. */
export interface PerformRestorePorts {
  client: KubeClient
  /** For requests about single objects, which pass the gate: it repeats nothing by itself, or the gate would not see refusals. */
  gatedClient: KubeClient
  gate: RequestGate
  clock: Clock
  /** The server's own log. */
  log: Logger
  /** A folder that exists. Each restore has a folder of its own in it while it runs. */
  scratch: string
  workers: BlockWorkers
  volumes: VolumeRestore
  plugins: PluginSessions
  /** For native snapshots, in place of those of `volumes`. Absent: there are no snapshot locations. */
  openSnapshotters?: OpenSnapshotters | undefined
  /** For file system backups, in place of those of `volumes`. Absent: there are no node agents. */
  openPodVolumes?: ((of: { restore: Restore; log: Logger }) => PodVolumeRestores) | undefined
  newUid(): string
  priorities: Priorities
  timeouts: RestoreTimeouts
  features: ReadonlySet<string>
  logLevel: LogLevel
  logFormat: 'text' | 'json'
  /** Takes the operations that go on. Without it they are in their file alone. */
  waiting?: WaitingOperations<RestoreOperation>
}

/** One restore to perform. */
export interface PerformRestoreRequest {
  restore: Restore
  backup: Backup
  policies?: ResourcePolicies | undefined
  modifiers?: ResourceModifiers | undefined
  /** Where the backup is, and where the restore's files go. */
  store: BackupStore
  /** Aborts when somebody asks for the end of the restore. */
  cancel?: AbortSignal | undefined
  onProgress?(progress: RestoreProgress): void
}

/** How a restore went. */
export interface PerformedRestore {
  /** Counters and, for a restore that broke off, the reason; without phase and times. */
  status: RestoreStatus
  /** Operations are still under way. */
  unfinishedOperations: number
}

/** How long a server that is told to stop may take to stop what its restore has begun. */
export const STOP_OPERATIONS_MS = 4_000

/**
 * Restores a backup and stores log, results and lists. A restore that broke off is told by `failureReason`, and so is one that was
 * cancelled: what it did until then is in its log, and the operations that it had begun are stopped. Throws ScratchError and the signal's
 * reason. Leaves nothing in scratch. Files that cannot be stored are a line in the server's log: what was restored is restored.
 */
export async function performRestore(
  request: PerformRestoreRequest,
  ports: PerformRestorePorts,
  signal: AbortSignal,
): Promise<PerformedRestore> {
  const { restore } = request
  await using scratch = await createScratchFolder(ports.scratch, 'restore')
  await using log = await createBackupLog({
    scratch: scratch.folder,
    level: ports.logLevel,
    format: ports.logFormat,
    clock: ports.clock,
    fields: { restore: `${restore.metadata.namespace}/${restore.metadata.name}` },
    also: ports.log,
  })
  await using plugins = ports.plugins.open({ log, signal })
  const report = new RestoreReport(log)
  const begun = journalOf({ request, report }, signal)
  const scope: RunScope = { request, ports, log, plugins, scratch: scratch.folder, report, begun }
  try {
    const run = await runUntilItBreaks(scope, signal)
    const settled = await settle(run, scope, signal)
    await plugins.heard()
    await storeRestoreFiles({ ...scope, outcome: run.outcome, settled }, signal)
    return { status: statusOf({ run, settled, report }), unfinishedOperations: settled.unfinished }
  } catch (error) {
    if (signal.aborted) await stopInLastWords(scope)
    throw error
  }
}

/**
 * A bucket that cannot be written to can be restored from all the same. Then a server that dies leaves operations behind that nobody
 * stops, which is said once.
 */
function journalOf(
  { request, report }: Pick<RunScope, 'request' | 'report'>,
  signal: AbortSignal,
): BegunOperations<RestoreOperation> {
  const { restore, store } = request
  const owner = journalOwnerOf(restore)
  let isTold = false
  return createOperationJournal<RestoreOperation>({
    store,
    owner,
    signal,
    onLost(error) {
      if (!isTold)
        report.warn({ place: 'restore', error, message: 'Operations cannot be noted in the bucket' })
      isTold = true
    },
  })
}

/** The phase after the work on a restore, before its end. */
export function phaseAfterRestoring({ status, unfinishedOperations }: PerformedRestore): RestorePhase {
  if (status.failureReason !== undefined) return 'Failed'
  const partly = (status.errors ?? 0) > 0
  if (unfinishedOperations > 0) {
    return partly ? 'WaitingForPluginOperationsPartiallyFailed' : 'WaitingForPluginOperations'
  }
  return partly ? 'FinalizingPartiallyFailed' : 'Finalizing'
}

interface RunScope {
  request: PerformRestoreRequest
  ports: PerformRestorePorts
  log: BackupLog
  plugins: PluginSession
  scratch: string
  /** Of what is said besides the restored objects and the hooks. */
  report: RestoreReport
  begun: BegunOperations<RestoreOperation>
}

/** With what the hooks did. */
interface HookedOutcome extends RestoreOutcome {
  hookStatus: Required<HookStatus>
}

type Run =
  | { outcome: HookedOutcome; failure?: never }
  /** With what was done until then. */
  | { outcome?: never; failure: string; progress: RestoreProgress | undefined }

async function runUntilItBreaks(scope: RunScope, signal: AbortSignal): Promise<Run> {
  const { cancel, onProgress } = scope.request
  let progress: RestoreProgress | undefined
  const request: PerformRestoreRequest = {
    ...scope.request,
    onProgress(now) {
      progress = now
      onProgress?.(now)
    },
  }
  const either = cancel === undefined ? signal : AbortSignal.any([signal, cancel])
  try {
    await using archive = await fetchArchive(scope, either)
    return { outcome: await runOn(archive, { ...scope, request }, either) }
  } catch (error) {
    signal.throwIfAborted()
    if (cancel?.aborted) {
      scope.log.error(
        { error: cancelledByRequest, itemsRestored: progress?.itemsRestored ?? 0 },
        'The restore was cancelled: what it has restored until now stays in the cluster',
      )
      return { failure: cancelledByRequest, progress }
    }
    scope.log.error({ error }, 'The restore broke off')
    return { failure: error instanceof Error ? error.message : String(error), progress }
  }
}

/** Those of a restore that broke off are stopped; what happens to them then is the action's business. */
function settle(run: Run, scope: RunScope, signal: AbortSignal): Promise<SettledOperations> {
  const { request, report, begun } = scope
  const ports = operationPorts(scope)
  if (run.outcome !== undefined) {
    return settleOperations(begun.all, { restore: request.restore, ports, report }, signal)
  }
  const error = run.failure === cancelledByRequest ? run.failure : `the restore failed: ${run.failure}`
  return stopOperations(begun.all, { ports, error }, signal)
}

/** The next server would do it, too, but it may come late. */
async function stopInLastWords(scope: RunScope): Promise<void> {
  const { request, ports, begun } = scope
  if (begun.all.length === 0) return
  const error = 'the server was stopped during the restore'
  const signal = AbortSignal.timeout(STOP_OPERATIONS_MS)
  try {
    const { operations } = await stopOperations(begun.all, { ports: operationPorts(scope), error }, signal)
    const name = request.restore.metadata.name ?? ''
    await request.store.putJson({ of: 'restore', name, file: 'itemOperations' }, operations, signal)
    await request.store.deleteSegments(journalOwnerOf(request.restore), signal)
  } catch (error) {
    ports.log.warn(
      { error, restore: request.restore.metadata.name },
      'not all operations of a restore were stopped',
    )
  }
}

function operationPorts({ request, ports, plugins, log }: RunScope) {
  return restoreOperationPorts(request.restore, { plugins, clock: ports.clock, log })
}

async function fetchArchive({ request, scratch }: RunScope, signal: AbortSignal): Promise<BackupArchive> {
  const name = request.backup.metadata.name ?? ''
  const stream = await request.store.get({ of: 'backup', name, file: 'contents' }, signal)
  if (stream === undefined) {
    throw new Error(`the backup ${name} has no archive in its storage location: it cannot be restored`)
  }
  return openBackupArchive({ stream, scratch, signal })
}

async function runOn(archive: BackupArchive, scope: RunScope, signal: AbortSignal): Promise<HookedOutcome> {
  const { client, clock, timeouts } = scope.ports
  const options = { client, clock, log: scope.log, restore: scope.request.restore }
  await using hooks = new RestoreExecHooks(options, signal)
  const restored = await restoreInto({ archive, hooks }, scope, signal)
  const hooked = await hooks.finish(timeouts.resource)
  return {
    ...restored,
    results: mergeResults(restored.results, hooked.results),
    warnings: restored.warnings + hooked.warnings,
    errors: restored.errors + hooked.errors,
    hookStatus: hooked.hookStatus,
  }
}

async function restoreInto(
  { archive, hooks }: { archive: BackupArchive; hooks: RestoreExecHooks },
  { request, ports, log, plugins, begun }: RunScope,
  signal: AbortSignal,
): Promise<RestoreOutcome> {
  const { client, gatedClient, gate, clock, workers, features, priorities, timeouts } = ports
  const { restore, backup, policies, modifiers, onProgress } = request
  const volumes = await backedUpVolumes(request, signal)
  return runRestore(
    { restore, backup, policies, volumes, priorities, features },
    {
      archive,
      sink: createClusterSink({ client: gatedClient, lists: client, gate, clock, log }),
      discovery: client.discovery,
      clock,
      newUid: () => ports.newUid(),
      log,
      actions: plugins.restoreItemActions(),
      volumes: volumesOf(ports, { plugins, request, log }),
      onPodRestored: pod => hooks.begin(pod),
      workers,
      timeouts,
      operations: begun,
      ...(modifiers && { modify: item => applyModifiers(modifiers, item) }),
      ...(onProgress && { onProgress }),
    },
    signal,
  )
}

/** The ways that the server has, with snapshots by the plugins of this restore's session. */
function volumesOf(
  { volumes, openSnapshotters, openPodVolumes }: PerformRestorePorts,
  { plugins, request, log }: Pick<RunScope, 'plugins' | 'request' | 'log'>,
): VolumeRestore {
  return {
    ...volumes,
    ...(openSnapshotters && { snapshots: createSnapshotRestores(openSnapshotters(plugins)) }),
    ...(openPodVolumes && { podVolumes: openPodVolumes({ restore: request.restore, log }) }),
  }
}

async function backedUpVolumes(
  { backup, store }: PerformRestoreRequest,
  signal: AbortSignal,
): Promise<BackedUpVolumes> {
  const list = async <T>(file: BackupFile) => {
    const found = await store.getJson({ of: 'backup', name: backup.metadata.name ?? '', file }, signal)
    return (Array.isArray(found) ? found : []) as T[]
  }
  return {
    volumeInfo: await list<VolumeInfo>('volumeInfo'),
    snapshots: await list<NativeSnapshot>('volumeSnapshots'),
    csiSnapshots: await list<ActionItem>('csiVolumeSnapshots'),
    podVolumeBackups: await list<PodVolumeBackup>('podVolumeBackups'),
  }
}

interface Ended {
  run: Run
  settled: SettledOperations
  report: RestoreReport
}

function statusOf({ run, settled, report }: Ended): RestoreStatus {
  const { outcome } = run
  const operations = {
    ...(settled.operations.length > 0 && { restoreItemOperationsAttempted: settled.operations.length }),
    ...(settled.completed > 0 && { restoreItemOperationsCompleted: settled.completed }),
    ...(settled.failed > 0 && { restoreItemOperationsFailed: settled.failed }),
  }
  if (outcome === undefined) {
    const { failure: failureReason, progress } = run
    return { failureReason, errors: 1, ...(progress && { progress }), ...operations }
  }
  const { progress, hookStatus } = outcome
  const warnings = outcome.warnings + report.warnings
  const errors = outcome.errors + report.errors
  return {
    progress,
    hookStatus,
    ...(warnings > 0 && { warnings }),
    ...(errors > 0 && { errors }),
    ...operations,
  }
}
