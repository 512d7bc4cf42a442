import { opendir } from 'node:fs/promises'
import { RepoError } from '../../errors/repo-error.ts'
import { SyncedFolder, type Syncfs } from '../../snapshot/synced-folder.ts'
import { type Logger, silentLogger } from '../logger.ts'
import type {
  BackupOutcome,
  BackupRun,
  RestoreRun,
  RunOptions,
  UploaderProvider,
} from '../uploader-provider.ts'
import { parseResticMessage, parseResticStats, type ResticMessage } from './restic-message.ts'
import {
  type ResticRepository,
  type ResticSettings,
  resticSnapshotId,
  resticTagArguments,
} from './restic-repository.ts'
import { type RunRestic, resticRunner } from './run-restic.ts'

/** Some files could not be read; restic has made a snapshot without them. */
const EXIT_INCOMPLETE = 3
/** The host that Velero's restic snapshots carry; restic finds a parent among those of one host. */
const SNAPSHOT_HOST = 'velero'
/** Nobody waits long for what was cancelled. */
const FORGET_WITHIN_MS = 30_000

/**
 * Moves the data of folders into a restic repository and back, with the real restic. Block volumes are not
 * for restic.
 */
export function resticUploaderProvider(options: {
  readonly settings: ResticSettings
  readonly repo: ResticRepository
  readonly log?: Logger
  /** In place of the system's. */
  readonly syncfs?: Syncfs
}): UploaderProvider {
  const log = options.log ?? silentLogger
  const restic = resticRunner(options.settings, options.repo)
  return {
    kind: 'restic',
    async runBackup(run, { signal, onProgress } = {}) {
      refuseBlock(run)
      if (await isEmptyFolder(run.path)) {
        log.info({ path: run.path }, 'nothing to back up')
        return { snapshotId: '', empty: true, totalBytes: 0, incrementalBytes: 0 }
      }
      const outcome = await backUp(restic, run, { signal, onProgress: onProgress ?? ignore, log })
      log.info({ path: run.path, ...outcome }, 'restic backed up')
      return outcome
    },
    async runRestore(run, { signal, onProgress = ignore } = {}) {
      refuseBlock(run)
      const snapshotId = resticSnapshotId(run.snapshotId)
      const stats = await restic({ command: 'stats', args: ['--json', snapshotId], signal })
      const totalBytes = parseResticStats(stats.stdout)
      onProgress({ bytesDone: 0, totalBytes })
      // Who reads that a restore is complete may start the application, and nodes fail.
      using synced = await openTarget(run.path, options.syncfs)
      const restore = (more: readonly string[]) =>
        restic({
          command: 'restore',
          args: ['--json', '--target', '.', ...more, snapshotId],
          cwd: run.path,
          signal,
          onLine: line => reportStatus(parseResticMessage(line), onProgress),
        })
      await (run.uploaderConfig?.writeSparseFiles ? sparsely(restore, log) : restore([]))
      await synced.sync()
      onProgress({ bytesDone: totalBytes, totalBytes })
      log.info({ path: run.path, snapshotId, bytes: totalBytes }, 'restic restored')
      return { bytes: totalBytes }
    },
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

async function openTarget(path: string, syncfs: Syncfs | undefined): Promise<SyncedFolder> {
  try {
    return await SyncedFolder.open(path, syncfs)
  } catch (cause) {
    throw new RepoError('TARGET_FAILED', {
      message: `cannot restore to ${path}: ${(cause as Error).message}`,
      hint: 'check that it is a folder and may be read',
      path,
      cause,
    })
  }
}

/** Writes holes where restic can, which is from its version 0.15 on. */
async function sparsely(restore: (more: readonly string[]) => Promise<unknown>, log: Logger): Promise<void> {
  try {
    await restore(['--sparse'])
  } catch (error) {
    if (!(error instanceof RepoError) || !/unknown flag/.test(error.message)) throw error
    log.warn({ err: error }, 'this restic writes no sparse files: they are restored with all their zeros')
    await restore([])
  }
}

type ReportProgress = NonNullable<RunOptions['onProgress']>

function ignore(): void {}

interface BackUpScope {
  signal: AbortSignal | undefined
  onProgress: ReportProgress
  log: Logger
}

/** Makes a snapshot, or throws and leaves none, as far as restic can still be run. */
async function backUp(restic: RunRestic, run: BackupRun, scope: BackUpScope): Promise<BackupOutcome> {
  const { signal, onProgress, log } = scope
  let summary: Extract<ResticMessage, { type: 'summary' }> | undefined
  try {
    const { exitCode, stderr } = await restic({
      command: 'backup',
      args: backupArguments(run),
      cwd: run.path,
      signal,
      accept: [EXIT_INCOMPLETE],
      onLine: line => {
        const message = parseResticMessage(line)
        reportStatus(message, onProgress)
        if (message?.type === 'summary') summary = message
      },
    })
    if (exitCode === EXIT_INCOMPLETE) throw unreadError(run, stderr)
  } catch (error) {
    // The snapshot is there by the time restic sums it up, and whoever cancels may come after that.
    if (summary !== undefined) await forget(restic, summary.snapshotId, log)
    throw error
  }
  if (summary === undefined) {
    throw new RepoError('TOOL_FAILED', { message: `restic backup of ${run.path} ended without a summary` })
  }
  const { snapshotId, totalBytes, dataAdded, totalFiles } = summary
  onProgress({ bytesDone: totalBytes, totalBytes, filesDone: totalFiles, totalFiles })
  return { snapshotId, empty: false, totalBytes, incrementalBytes: dataAdded }
}

/** Not bound to the signal of the run, which may be aborted. */
async function forget(restic: RunRestic, snapshotId: string, log: Logger): Promise<void> {
  try {
    const signal = AbortSignal.timeout(FORGET_WITHIN_MS)
    await restic({ command: 'forget', args: [resticSnapshotId(snapshotId)], signal })
  } catch (err) {
    log.warn({ err, snapshotId }, 'a snapshot that nobody wants could not be forgotten')
  }
}

function backupArguments(run: BackupRun): string[] {
  const tags = resticTagArguments(run.tags ?? {})
  return ['--json', '--host', SNAPSHOT_HOST, ...parentArguments(run), ...tags, '.']
}

function unreadError(run: BackupRun, stderr: string): RepoError {
  return new RepoError('SOURCE_FAILED', {
    message: `some of ${run.path} could not be read: ${unreadItems(stderr)}`,
    hint: 'make the files readable to this process and back up again',
    path: run.path,
  })
}

/** Restic names what it could not read on stderr, in JSON as well. */
function unreadItems(stderr: string): string {
  const errors = stderr
    .split('\n')
    .map(parseResticMessage)
    .filter(message => message?.type === 'error')
  const items = errors.slice(0, 10).map(({ item, reason }) => `${item} ${reason}`)
  return items.join('; ') || 'restic does not say what'
}

function parentArguments(run: BackupRun): string[] {
  if (run.forceFull || run.realSource === undefined) return ['--force']
  return run.parentSnapshot === undefined ? [] : ['--parent', resticSnapshotId(run.parentSnapshot)]
}

function reportStatus(message: ResticMessage | undefined, onProgress: ReportProgress): void {
  if (message?.type !== 'status') return
  const { bytesDone, totalBytes, filesDone, totalFiles } = message
  onProgress({ bytesDone, totalBytes, filesDone, totalFiles })
}

function refuseBlock(run: BackupRun | RestoreRun): void {
  if (run.volumeMode !== 'block') return
  throw new RepoError('INVALID_ARGUMENT', {
    message: `${run.path} is a block volume, which restic cannot move`,
    hint: 'use the unified repository',
    path: run.path,
  })
}

async function isEmptyFolder(path: string): Promise<boolean> {
  try {
    await using folder = await opendir(path)
    return (await folder.read()) === null
  } catch (cause) {
    throw new RepoError('SOURCE_FAILED', {
      message: `the folder ${path} cannot be read: ${(cause as Error).message}`,
      hint: 'check that it exists and may be read',
      path,
      cause,
    })
  }
}
