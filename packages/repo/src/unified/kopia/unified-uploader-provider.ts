import { availableParallelism } from 'node:os'
import path from 'node:path'
import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import type { Repository, RepositoryWriter } from '../../repository.ts'
import { uploadBlockDevice } from '../../snapshot/block-device.ts'
import { findSnapshot, listSnapshots } from '../../snapshot/list-snapshots.ts'
import { policyLabels, policyPayload } from '../../snapshot/policy.ts'
import type { UploadProgress } from '../../snapshot/progress.ts'
import { restoreTree } from '../../snapshot/restore-tree.ts'
import type { SnapshotManifest } from '../../snapshot/snapshot-manifest.ts'
import { type SourceInfo, veleroConventions, veleroSource } from '../../snapshot/source.ts'
import type { UploadOptions } from '../../snapshot/upload-options.ts'
import { uploadTree } from '../../snapshot/upload-tree.ts'
import type { RepoOptions } from '../backup-repo.ts'
import { type DataPathLoggers, silentLogger } from '../logger.ts'
import type {
  BackupOutcome,
  BackupRun,
  BackupRunOptions,
  RestoreRun,
  RunOptions,
  UploaderProvider,
} from '../uploader-provider.ts'
import type { KopiaRepoService } from './kopia-repo-service.ts'
import { requireFolder, restoreBlockDevice } from './restore-block-device.ts'
import { veleroPolicy } from './velero-policy.ts'

/** What an uploader works for. */
export interface UnifiedUploaderOptions {
  readonly service: KopiaRepoService
  readonly repo: RepoOptions
  /**
   * Who asks for the backups, such as `snapshot-pod-volume`; part of every source, and parents are of the
   * same requester.
   */
  readonly requester: string
  /** The uploader's log; the repository's is the service's. */
  readonly log?: DataPathLoggers['uploader']
}

/**
 * Moves volumes into a unified repository and back, with the snapshots, tags and policies that Velero uses.
 */
export function unifiedUploaderProvider(options: UnifiedUploaderOptions): UploaderProvider {
  const log = options.log ?? silentLogger
  return {
    kind: 'kopia',
    async runBackup(run, call = {}) {
      await using opened = await options.service.open(options.repo, { signal: call.signal })
      const outcome = await backUp(opened.repository, { ...options, run, call })
      log.info({ path: run.path, ...outcome }, 'backed up')
      return outcome
    },
    async runRestore(run, call = {}) {
      await using opened = await options.service.open(options.repo, { signal: call.signal })
      const bytes = await restore(opened.repository, run, {
        ...call,
        note: text => log.warn({ text }, 'restored less exactly'),
      })
      log.info({ path: run.path, snapshotId: run.snapshotId, bytes }, 'restored')
      return { bytes }
    },
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

type BackupJob = UnifiedUploaderOptions & { readonly run: BackupRun; readonly call: BackupRunOptions }

async function backUp(repository: Repository, job: BackupJob): Promise<BackupOutcome> {
  const { run, call } = job
  const source = sourceOf(job)
  const { snapshot, progress } = await repository.writing({ signal: call.signal }, async writer => {
    const options = await uploadOptions(writer, job, source)
    return run.volumeMode === 'block'
      ? uploadBlockDevice(writer, run.path, options)
      : uploadTree(writer, run.path, options)
  })
  const { summary } = snapshot.rootEntry
  return {
    snapshotId: snapshot.id,
    empty: summary !== undefined && summary.files + summary.symlinks === 0 && summary.dirs === 1,
    totalBytes: snapshot.stats.totalSize,
    incrementalBytes: snapshot.stats.totalSize - progress.bytesCached,
  }
}

/** Without a name for the data Velero files a backup under the path itself. */
function sourceOf({ run, requester }: BackupJob): SourceInfo {
  const { host, userName } = veleroConventions
  if (run.realSource === undefined) return { host, userName, path: path.resolve(run.path) }
  return veleroSource(requester, run.realSource)
}

async function uploadOptions(
  writer: RepositoryWriter,
  job: BackupJob,
  source: SourceInfo,
): Promise<UploadOptions> {
  const { run, call, requester, log } = job
  const { onProgress, signal, confirm } = call
  const parallel = run.uploaderConfig?.parallelFilesUpload ?? availableParallelism()
  const policy = veleroPolicy({ parallelFiles: parallel })
  await writer.manifests.replace(policyLabels(source), policyPayload(policy))
  const tags = {
    ...run.tags,
    [veleroConventions.requesterTag]: requester,
    [veleroConventions.uploaderTag]: veleroConventions.uploader,
  }
  return {
    source,
    tags,
    description: veleroConventions.description,
    pins: [veleroConventions.pin],
    policyOverride: policy,
    previous: await previousSnapshots(writer, job, source),
    parallel,
    failFast: true,
    metadataCompressor: '',
    ...(log && { log }),
    ...(signal && { signal }),
    ...(confirm && { confirm }),
    ...(onProgress && { onProgress: (progress: UploadProgress) => onProgress(shown(progress)) }),
  }
}

async function previousSnapshots(
  { manifests }: RepositoryWriter,
  { run, requester, call: { signal } }: BackupJob,
  source: SourceInfo,
): Promise<SnapshotManifest[]> {
  if (run.forceFull || run.realSource === undefined) return []
  if (run.parentSnapshot !== undefined) return [await findSnapshot(manifests, run.parentSnapshot, signal)]
  const { requesterTag, uploaderTag, uploader } = veleroConventions
  const { snapshots } = await listSnapshots(manifests, {
    host: source.host,
    userName: source.userName,
    path: source.path,
    tags: { [requesterTag]: requester, [uploaderTag]: uploader },
    completeOnly: true,
    signal,
  })
  return snapshots.slice(-1)
}

function shown(progress: UploadProgress) {
  return {
    bytesDone: progress.bytesRead + progress.bytesCached,
    totalBytes: progress.totalBytes,
    filesDone: progress.filesRead + progress.filesCached,
    totalFiles: progress.totalFiles,
  }
}

async function restore(
  repository: Repository,
  run: RestoreRun,
  { signal, onProgress, note }: RunOptions & { note: (text: string) => void },
): Promise<number> {
  const snapshot = await findSnapshot(repository.manifests, run.snapshotId, signal)
  if (run.volumeMode === 'block')
    return restoreBlockDevice(repository, snapshot, { path: run.path, signal, onProgress })
  await requireFolder(repository, snapshot, signal)
  const { parallelFilesDownload, writeSparseFiles } = run.uploaderConfig ?? {}
  const result = await restoreTree({
    contents: repository.contents,
    entry: snapshot.rootEntry,
    target: run.path,
    sparse: writeSparseFiles === true,
    // Who reads that a restore is complete may start the application, and nodes fail.
    sync: true,
    ignorePermissionErrors: true,
    ...(parallelFilesDownload !== undefined && { parallel: parallelFilesDownload }),
    ...(onProgress && {
      onProgress: progress =>
        onProgress({
          bytesDone: progress.bytes + progress.skippedBytes,
          totalBytes: progress.totalBytes,
          filesDone: progress.files + progress.skippedFiles,
          totalFiles: progress.totalFiles,
        }),
    }),
    signal,
  })
  for (const text of result.notes) note(text)
  if (result.failed > 0) throw notAllRestored(run, result.problems[0]?.error, result.failed)
  return result.bytes
}

function notAllRestored(run: RestoreRun, first: unknown, failed: number): RepoError {
  const reason = isRepoError(first) ? first.message : 'see the log'
  return new RepoError(isRepoError(first) ? first.code : 'TARGET_FAILED', {
    message: `${failed} entries of snapshot ${run.snapshotId} could not be restored to ${run.path}: ${reason}`,
    hint: isRepoError(first) ? first.hint : undefined,
    snapshotId: run.snapshotId,
    path: run.path,
    cause: first,
  })
}
