import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Backup, HookStatus, PodVolumeBackup, Restore, RestorePhase, RestoreStatus } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ActionItem, Registered, RestoreItemAction } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupFile, RestoreFile } from '../backup-store/bucket-layout.ts'
import type { ResourcePolicies } from '../filters/policies/resource-policies.ts'
import { createBackupLog } from '../report/backup-log.ts'
import type { LogLevel } from '../report/log-line.ts'
import type { BackupLog } from '../report/report.ts'
import { scratchError } from '../scratch/scratch-error.ts'
import type { NativeSnapshot } from '../volumes/volume-backup.ts'
import type { VolumeInfo } from '../volumes/volume-info.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import type { BackupArchive } from './archive/backup-archive.ts'
import { openBackupArchive } from './archive/open-backup-archive.ts'
import { mergeResults } from './hooks/merge-results.ts'
import { RestoreExecHooks } from './hooks/restore-exec-hooks.ts'
import { applyModifiers } from './modifiers/apply-modifiers.ts'
import type { ResourceModifiers } from './modifiers/resource-modifiers.ts'
import type { Priorities } from './order/priorities.ts'
import type { RestoreOutcome, RestoreProgress, RestoreTimeouts } from './restore-request.ts'
import { runRestore } from './run-restore.ts'
import { createClusterSink } from './sink/cluster-sink.ts'
import type { RequestGate } from './sink/request-gate.ts'
import type { BackedUpVolumes, VolumeRestore } from './volumes/volume-restore.ts'

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
  /** Made anew for each restore. */
  actions(): readonly Registered<RestoreItemAction>[]
  newUid(): string
  priorities: Priorities
  timeouts: RestoreTimeouts
  features: ReadonlySet<string>
  logLevel: LogLevel
  logFormat: 'text' | 'json'
}

/** One restore to perform. */
export interface PerformRestoreRequest {
  restore: Restore
  backup: Backup
  policies?: ResourcePolicies | undefined
  modifiers?: ResourceModifiers | undefined
  /** Where the backup is, and where the restore's files go. */
  store: BackupStore
  onProgress?(progress: RestoreProgress): void
}

/** How a restore went. */
export interface PerformedRestore {
  /** Counters and, for a restore that broke off, the reason; without phase and times. */
  status: RestoreStatus
  /** Operations are still under way. */
  unfinishedOperations: number
}

/**
 * Restores a backup and stores log, results and lists. A restore that broke off is told by `failureReason`; what it did until then is in its log. Throws
 * ScratchError and the signal's reason. Leaves nothing in scratch. Files that cannot be stored are a line in the server's log:
 * what was restored is restored.
 */
export async function performRestore(
  request: PerformRestoreRequest,
  ports: PerformRestorePorts,
  signal: AbortSignal,
): Promise<PerformedRestore> {
  const { restore } = request
  await using scratch = await createScratch(ports.scratch)
  await using log = await createBackupLog({
    scratch: scratch.folder,
    level: ports.logLevel,
    format: ports.logFormat,
    clock: ports.clock,
    fields: { restore: `${restore.metadata.namespace}/${restore.metadata.name}` },
    also: ports.log,
  })
  const run = await runUntilItBreaks({ request, ports, log, scratch: scratch.folder }, signal)
  await storeFiles(run.outcome, { request, ports, log, signal })
  return { status: statusOf(run), unfinishedOperations: run.outcome?.operations.length ?? 0 }
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
  scratch: string
}

/** With what the hooks did. */
interface HookedOutcome extends RestoreOutcome {
  hookStatus: Required<HookStatus>
}

type Run = { outcome: HookedOutcome; failure?: never } | { outcome?: never; failure: string }

async function runUntilItBreaks(scope: RunScope, signal: AbortSignal): Promise<Run> {
  try {
    await using archive = await fetchArchive(scope, signal)
    return { outcome: await runOn(archive, scope, signal) }
  } catch (error) {
    signal.throwIfAborted()
    scope.log.error({ error }, 'The restore broke off')
    return { failure: error instanceof Error ? error.message : String(error) }
  }
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
  { request, ports, log }: RunScope,
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
      actions: ports.actions(),
      volumes: ports.volumes,
      onPodRestored: pod => hooks.begin(pod),
      workers,
      timeouts,
      ...(modifiers && { modify: item => applyModifiers(modifiers, item) }),
      ...(onProgress && { onProgress }),
    },
    signal,
  )
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

interface StoreScope {
  request: PerformRestoreRequest
  ports: PerformRestorePorts
  log: BackupLog
  signal: AbortSignal
}

async function storeFiles(outcome: RestoreOutcome | undefined, scope: StoreScope): Promise<void> {
  const { request, ports, log, signal } = scope
  const name = request.restore.metadata.name ?? ''
  const stored = async (file: RestoreFile, put: () => Promise<void>) => {
    try {
      await put()
    } catch (error) {
      signal.throwIfAborted()
      ports.log.error({ error, restore: name, file }, 'a file of a restore could not be stored')
    }
  }
  const json = (file: RestoreFile, value: unknown) =>
    stored(file, () => request.store.putJson({ of: 'restore', name, file }, value, signal))
  await stored('log', () => request.store.put({ of: 'restore', name, file: 'log' }, () => log.open(), signal))
  await json('results', outcome?.results ?? log.results)
  await json('resourceList', outcome?.resourceList ?? {})
  await json('itemOperations', outcome?.operations ?? [])
  await json('volumeInfo', outcome?.volumeInfo ?? [])
}

function statusOf({ outcome, failure }: Run): RestoreStatus {
  if (outcome === undefined) return { failureReason: failure, errors: 1 }
  const { progress, warnings, errors, operations, hookStatus } = outcome
  return {
    progress,
    hookStatus,
    ...(warnings > 0 && { warnings }),
    ...(errors > 0 && { errors }),
    ...(operations.length > 0 && { restoreItemOperationsAttempted: operations.length }),
  }
}

async function createScratch(parent: string): Promise<{ folder: string } & AsyncDisposable> {
  const prefix = path.join(parent, 'restore-')
  try {
    const folder = await mkdtemp(prefix)
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    throw scratchError(error, prefix)
  }
}
