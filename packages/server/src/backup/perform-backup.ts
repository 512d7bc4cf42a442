import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { BackupPhase, BackupStatus } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { BackupItemAction, ItemBlockAction, Registered } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { createBackupLog } from '../report/backup-log.ts'
import type { LogLevel } from '../report/log-line.ts'
import type { BackupLog } from '../report/report.ts'
import { scratchError } from '../scratch/scratch-error.ts'
import type { VolumeBackup } from '../volumes/volume-backup.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import { createArchive } from './archive/create-archive.ts'
import type { BackupOutcome, BackupProgress, BackupRequest } from './backup-request.ts'
import { collectItems } from './collect/collect-items.ts'
import { publishBackup } from './publish-backup.ts'
import { runBackup } from './run-backup.ts'

/** The actions of one backup. */
export interface BackupActions {
  backupItemActions: readonly Registered<BackupItemAction>[]
  itemBlockActions: readonly Registered<ItemBlockAction>[]
}

/** What backups are performed with; the same for all of one server. */
export interface PerformPorts {
  client: KubeClient
  clock: Clock
  /** The server's own log. */
  log: Logger
  /** A folder that exists. Each backup has a folder of its own in it while it runs. */
  scratch: string
  workers: BlockWorkers
  volumes: VolumeBackup
  /** Made anew for each backup. */
  actions(): Promise<BackupActions>
  features: ReadonlySet<string>
  /** Objects per page of a list; the client chooses when absent. */
  pageSize?: number | undefined
  logLevel: LogLevel
  logFormat: 'text' | 'json'
}

/** One backup to perform. */
export interface PerformRequest extends Pick<BackupRequest, 'backup' | 'policies'> {
  /** Said in the backup's log before the work begins. */
  warnings?: readonly { fields: object; message: string }[]
  store: BackupStore
  onProgress?(progress: BackupProgress): void
}

/** How a backup went whose files are in the bucket. */
export interface PerformedBackup {
  /** Counters and, for a backup that broke off, the reason; without phase and times. */
  status: BackupStatus
  /** Operations are still under way. */
  unfinishedOperations: number
}

/**
 * Takes a backup and stores its files, all but `velero-backup.json`: that one makes it visible and is put when the backup has
 * ended. A backup that broke off is stored as far as it came, with the reason in `failureReason`.
 *
 * Throws PublishError when the files cannot be stored, ScratchError, and the signal's reason. Leaves nothing in scratch.
 */
export async function performBackup(
  request: PerformRequest,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<PerformedBackup> {
  const { backup, store } = request
  await using scratch = await createScratch(ports.scratch)
  await using log = await createBackupLog({
    scratch: scratch.folder,
    level: ports.logLevel,
    format: ports.logFormat,
    clock: ports.clock,
    fields: { backup: `${backup.metadata.namespace}/${backup.metadata.name}` },
    also: ports.log,
  })
  for (const { fields, message } of request.warnings ?? []) log.warn(fields, message)
  await using archive = await createArchive({
    scratch: scratch.folder,
    modified: ports.clock.now(),
    signal,
  })
  const run = await runUntilItBreaks({ request, ports, log, archive, scratch: scratch.folder }, signal)
  const contents = run.outcome?.archive ?? (await archive.finish())
  await publishBackup(filesOf(run.outcome, { contents, log }), {
    store,
    name: backup.metadata.name ?? '',
    onLogLost: error => ports.log.error({ error, backup: backup.metadata.name }, 'a log could not be stored'),
    signal,
  })
  return { status: statusOf(run, log), unfinishedOperations: run.outcome?.operations.length ?? 0 }
}

interface RunScope {
  request: PerformRequest
  ports: PerformPorts
  log: BackupLog
  archive: Awaited<ReturnType<typeof createArchive>>
  scratch: string
}

type Run = { outcome: BackupOutcome; failure?: never } | { outcome?: never; failure: string }

async function runUntilItBreaks(scope: RunScope, signal: AbortSignal): Promise<Run> {
  const { request, ports, log, archive, scratch } = scope
  const { client, clock, workers, volumes, features, pageSize } = ports
  try {
    const { backupItemActions, itemBlockActions } = await ports.actions()
    const { backup, policies, onProgress } = request
    const outcome = await runBackup(
      { backup, policies, features },
      {
        client,
        clock,
        log,
        archive,
        workers,
        volumes,
        backupItemActions,
        itemBlockActions,
        collect: (found, abort) =>
          collectItems({ client, scope: found, scratch, log, pageSize, features }, abort),
        ...(onProgress && { onProgress }),
      },
      signal,
    )
    return { outcome }
  } catch (error) {
    signal.throwIfAborted()
    log.error({ error }, 'The backup broke off')
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

function filesOf(
  outcome: BackupOutcome | undefined,
  { contents, log }: { contents: BackupOutcome['archive']; log: BackupLog },
) {
  return {
    contents,
    log,
    resourceList: outcome?.resourceList ?? {},
    podVolumeBackups: outcome?.podVolumeBackups ?? [],
    volumeSnapshots: outcome?.volumeSnapshots ?? [],
    itemOperations: outcome?.operations ?? [],
    volumeInfo: outcome?.volumeInfo ?? [],
  }
}

function statusOf({ outcome, failure }: Run, log: BackupLog): BackupStatus {
  const counts = {
    ...(log.warnings > 0 && { warnings: log.warnings }),
    ...(log.errors > 0 && { errors: log.errors }),
  }
  if (outcome === undefined) return { ...counts, failureReason: failure }
  const { progress, hookStatus, volumeSnapshots, operations } = outcome
  const completed = volumeSnapshots.filter(({ status }) => status.phase === 'Completed').length
  return {
    ...counts,
    progress,
    hookStatus,
    ...(volumeSnapshots.length > 0 && {
      volumeSnapshotsAttempted: volumeSnapshots.length,
      volumeSnapshotsCompleted: completed,
    }),
    ...(operations.length > 0 && { backupItemOperationsAttempted: operations.length }),
  }
}

async function createScratch(parent: string): Promise<{ folder: string } & AsyncDisposable> {
  const prefix = path.join(parent, 'backup-')
  try {
    const folder = await mkdtemp(prefix)
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    throw scratchError(error, prefix)
  }
}

/** The phase after the work on a backup, before its end. */
export function phaseAfterWork({ status, unfinishedOperations }: PerformedBackup): BackupPhase {
  if (status.failureReason !== undefined) return 'Failed'
  const partly = (status.errors ?? 0) > 0
  if (unfinishedOperations > 0) {
    return partly ? 'WaitingForPluginOperationsPartiallyFailed' : 'WaitingForPluginOperations'
  }
  return partly ? 'FinalizingPartiallyFailed' : 'Finalizing'
}
