import type { Backup, BackupPhase, BackupStatus, VolumeSnapshotLocation } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { PluginSession, PluginSessions } from '../plugin-host/plugin-session.ts'
import type { LogLevel } from '../report/log-line.ts'
import type { BackupLog } from '../report/report.ts'
import { createScratchFolder } from '../scratch/scratch-folder.ts'
import { csiAttempts } from '../volumes/csi-operations.ts'
import { createNativeSnapshots } from '../volumes/native-snapshots.ts'
import { settleSnapshots, snapshotCounts } from '../volumes/settle-snapshots.ts'
import type { OpenSnapshotters, Snapshotters } from '../volumes/snapshotters.ts'
import type { NativeSnapshot, PodVolumeBackups, VolumeBackup } from '../volumes/volume-backup.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import { createArchive } from './archive/create-archive.ts'
import type { BackupOutcome, BackupProgress, BackupRequest } from './backup-request.ts'
import { collectItems } from './collect/collect-items.ts'
import { givenUp } from './given-up.ts'
import { openLog } from './open-log.ts'
import { publishBackup } from './publish-backup.ts'
import { runBackup } from './run-backup.ts'
import { countsOf, RunOperations } from './run-operations.ts'

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
  plugins: PluginSessions
  /** For native snapshots, in place of those of `volumes`. Absent: there are no snapshot locations. */
  openSnapshotters?: OpenSnapshotters | undefined
  /** For file system backups, in place of those of `volumes`. Absent: there are no node agents. */
  openPodVolumes?: ((of: { backup: Backup; log: Logger }) => PodVolumeBackups) | undefined
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
  /** Where native snapshots go, one for each provider. */
  snapshotLocations?: readonly VolumeSnapshotLocation[] | undefined
  onProgress?(progress: BackupProgress): void
  /** Aborted when the server has to end: operations of a backup that breaks off are then stopped within seconds or not at all. */
  stopping?: AbortSignal | undefined
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
 * ended. A backup that broke off is stored as far as it came, with the reason in `failureReason`. Operations that it began are stopped
 * when it fails, in whatever way.
 *
 * Throws PublishError when the files cannot be stored, and when it failed and not all that it began could be stopped; ScratchError, and the
 * signal's reason. Leaves nothing in scratch.
 */
export async function performBackup(
  request: PerformRequest,
  ports: PerformPorts,
  signal: AbortSignal,
): Promise<PerformedBackup> {
  const { backup } = request
  await using scratch = await createScratchFolder(ports.scratch, 'backup')
  await using log = await openLog(backup, scratch.folder, ports)
  for (const { fields, message } of request.warnings ?? []) log.warn(fields, message)
  await using archive = await createArchive({
    scratch: scratch.folder,
    modified: ports.clock.now(),
    signal,
  })
  await using plugins = ports.plugins.open({ log, signal })
  const snapshotters = ports.openSnapshotters?.(plugins)
  const operations = new RunOperations(request, {
    ...ports,
    log,
    plugins,
    snapshotters,
    asking: ports,
    signal,
  })
  const volumes = volumesOf({ request, ports, log, snapshotters })
  const scope = { request, ports, log, archive, plugins, volumes, operations, scratch: scratch.folder }
  try {
    return await runAndPublish(scope, signal)
  } catch (error) {
    const name = backup.metadata.name ?? ''
    throw await givenUp(error, { operations, store: request.store, name, signal })
  }
}

async function runAndPublish(scope: RunScope, signal: AbortSignal): Promise<PerformedBackup> {
  const { request, ports, log, archive, plugins, operations } = scope
  const { store, backup } = request
  const run = await runUntilItBreaks(scope, signal)
  const contents = run.outcome?.archive ?? (await archive.finish())
  const settled = await operations.settle(run.failure)
  await plugins.heard()
  const files = settleSnapshots(
    filesOf(run.outcome, { contents, log, volumes: scope.volumes }),
    settled.operations,
  )
  await publishBackup(
    { ...files, itemOperations: settled.operations },
    {
      store,
      name: backup.metadata.name ?? '',
      onLogLost: error =>
        ports.log.error({ error, backup: backup.metadata.name }, 'a log could not be stored'),
      signal,
    },
  )
  await operations.deleteJournal()
  const { volumeSnapshots } = files
  return {
    status: {
      ...statusOf(run, { log, volumeSnapshots }),
      ...countsOf(settled),
      ...csiAttempts(settled.operations),
    },
    unfinishedOperations: settled.unfinished,
  }
}

interface RunScope {
  request: PerformRequest
  ports: PerformPorts
  log: BackupLog
  archive: Awaited<ReturnType<typeof createArchive>>
  plugins: PluginSession
  volumes: VolumeBackup
  operations: RunOperations
  scratch: string
}

type Run = { outcome: BackupOutcome; failure?: never } | { outcome?: never; failure: string }

async function runUntilItBreaks(scope: RunScope, signal: AbortSignal): Promise<Run> {
  const { request, ports, log, archive, plugins, volumes, operations, scratch } = scope
  const { client, clock, workers, features, pageSize } = ports
  try {
    const { backup, policies, onProgress } = request
    const outcome = await runBackup(
      { backup, policies, features },
      {
        client,
        clock,
        log,
        archive,
        workers,
        operations: operations.begun,
        volumes,
        backupItemActions: plugins.backupItemActions(),
        itemBlockActions: plugins.itemBlockActions(),
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

/** The ways that the server has, with snapshots by the plugins of this backup's session. */
function volumesOf({
  request,
  ports,
  log,
  snapshotters,
}: Pick<RunScope, 'request' | 'ports' | 'log'> & { snapshotters: Snapshotters | undefined }): VolumeBackup {
  const { volumes, openPodVolumes } = ports
  const { snapshotLocations: locations = [], backup } = request
  return {
    podVolumes: openPodVolumes?.({ backup, log }) ?? volumes.podVolumes,
    snapshots:
      snapshotters === undefined
        ? volumes.snapshots
        : createNativeSnapshots({ locations, snapshotters, log }),
  }
}

function filesOf(
  outcome: BackupOutcome | undefined,
  { contents, log, volumes }: Pick<RunScope, 'log' | 'volumes'> & { contents: BackupOutcome['archive'] },
) {
  // Who deletes a backup that broke off deletes its snapshots, too.
  const taken = 'unavailable' in volumes.snapshots ? [] : volumes.snapshots.taken
  return {
    contents,
    log,
    resourceList: outcome?.resourceList ?? {},
    podVolumeBackups: outcome?.podVolumeBackups ?? [],
    volumeSnapshots: outcome?.volumeSnapshots ?? taken,
    volumeInfo: outcome?.volumeInfo ?? [],
  }
}

function statusOf(
  { outcome, failure }: Run,
  { log, volumeSnapshots }: { log: BackupLog; volumeSnapshots: readonly NativeSnapshot[] },
): BackupStatus {
  const counts = {
    ...(log.warnings > 0 && { warnings: log.warnings }),
    ...(log.errors > 0 && { errors: log.errors }),
  }
  if (outcome === undefined) return { ...counts, failureReason: failure }
  const { progress, hookStatus } = outcome
  return {
    ...counts,
    progress,
    hookStatus,
    ...snapshotCounts(volumeSnapshots),
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
