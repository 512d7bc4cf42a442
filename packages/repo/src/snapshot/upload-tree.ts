import { realpathSync } from 'node:fs'
import path from 'node:path'
import { RepoError } from '../errors/repo-error.ts'
import { goTimeFromMillis } from '../go-json/go-time.ts'
import { ActiveDirectory, checkpointDirectory, withCheckpoints } from './checkpoint.ts'
import type { DirectoryEntry } from './directory.ts'
import { fileEntryOf } from './entry-of-source.ts'
import { listSnapshots } from './list-snapshots.ts'
import { choosePrevious } from './previous-directories.ts'
import { saveCheckpoint, saveUpload, type UploadResult } from './save-snapshot.ts'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import { uploadDirectory } from './upload-directory.ts'
import { uploadLargeFile } from './upload-file.ts'
import { type UploadOptions, type UploadTarget, withUploadDefaults } from './upload-options.ts'
import { sourceFailed, UploadRun, UploadStopped } from './upload-run.ts'
import { estimateTree } from './walk/estimate-tree.ts'
import { Pace } from './walk/pace.ts'
import { type SourceEntry, SourceReadError, statRoot } from './walk/source-entry.ts'
import { rootIgnoring } from './walk/visit-directory.ts'

/**
 * Stores a folder (or a single file) as a snapshot: previous snapshot -> walk -> unchanged? -> read -> store ->
 * directories from the leaves to the root -> manifest -> retention -> flush.
 *
 * Entries that cannot be read are counted in the snapshot, or end the upload with SOURCE_FAILED when `failFast` is
 * set. Throws SOURCE_FAILED when the root cannot be read, CANCELLED when the signal is aborted, else what the
 * repository throws; no complete snapshot is left then.
 */
export async function uploadTree(
  target: UploadTarget,
  sourcePath: string,
  options: UploadOptions,
): Promise<UploadResult> {
  const run = new UploadRun(target, await withUploadDefaults(target, options))
  const startTime = goTimeFromMillis(run.settings.clock.now())
  const root = openRoot(sourcePath)
  const previous = await previousSnapshots(run)
  const active = new ActiveDirectory(root)
  const checkpoint = () => saveCheckpoint(run, startTime, () => checkpointDirectory(run, active))
  const rootEntry = await withCheckpoints(run, checkpoint, () =>
    withEstimate(run, { root, previous }, () => run.withThreads(() => uploadRoot(run, active, previous))),
  )
  return saveUpload(run, { startTime, rootEntry })
}

async function uploadRoot(
  run: UploadRun,
  active: ActiveDirectory,
  previous: readonly SnapshotManifest[],
): Promise<DirectoryEntry> {
  const root = active.entry
  const { policies, ignoreRules } = run.settings
  try {
    if (root.kind === 'file') return await uploadRootFile(run, active)
    return await uploadDirectory(run, {
      entry: root,
      relativePath: '',
      policies,
      ignoring: rootIgnoring(ignoreRules),
      previous: previous.flatMap(({ rootEntry }) => (rootEntry.type === 'd' ? [rootEntry.obj] : [])),
      active,
      isAwaited: true,
    })
  } catch (error) {
    throw error instanceof SourceReadError ? sourceFailed(error.path, error) : error
  }
}

async function uploadRootFile(run: UploadRun, active: ActiveDirectory): Promise<DirectoryEntry> {
  const { entry } = active
  const policy = run.settings.policies.effective
  const stored = await uploadLargeFile(run, { entry, policy, active }).catch(error => {
    throw error instanceof UploadStopped ? nothingToKeep(run) : error
  })
  run.stats.nonCachedFiles++
  run.stats.fileCount++
  run.stats.totalSize += stored.size
  run.progress.counts.filesRead++
  const totals = { size: stored.size, files: 1, symlinks: 0, dirs: 0, maxTime: entry.mtime }
  return {
    ...fileEntryOf(entry, stored),
    summary: { ...totals, numFailed: 0, numIgnoredErrors: 0, errors: [] },
  }
}

function nothingToKeep(run: UploadRun): RepoError {
  return new RepoError('CANCELLED', {
    message: 'The upload ended before its only file was complete, so there is nothing to keep',
    cause: run.settings.signal?.reason,
  })
}

function openRoot(sourcePath: string): SourceEntry {
  const root = statRoot(sourcePath, path.basename(resolved(sourcePath)) || '/')
  if (root.kind === 'directory' || root.kind === 'file') return { ...root, path: resolved(sourcePath) }
  throw new RepoError('SOURCE_FAILED', {
    message: `${sourcePath} is neither a folder nor a file`,
    hint: 'A block device is uploaded as one',
    path: sourcePath,
  })
}

function resolved(sourcePath: string): string {
  try {
    return realpathSync(sourcePath)
  } catch {
    return path.resolve(sourcePath)
  }
}

async function previousSnapshots(run: UploadRun): Promise<readonly SnapshotManifest[]> {
  const { previous, source, signal, rereadAll } = run.settings
  if (rereadAll) return []
  if (previous) return previous
  const { host, userName, path: sourcePath } = source
  const { snapshots } = await listSnapshots(run.target.manifests, {
    host,
    userName,
    path: sourcePath,
    signal,
  })
  return choosePrevious(snapshots)
}

// A short upload is over before anybody wants to know how long it takes.
const estimateAfter = 1000

// The previous snapshot is a good estimate that costs nothing; without one the tree is counted alongside.
async function withEstimate<T>(
  run: UploadRun,
  { root, previous }: { root: SourceEntry; previous: readonly SnapshotManifest[] },
  work: () => Promise<T>,
): Promise<T> {
  const { onProgress, estimate = true, policies, ignoreRules, clock } = run.settings
  const known = previous.find(snapshot => !snapshot.incomplete)?.rootEntry.summary
  if (known) run.progress.expect({ files: known.files, bytes: known.size })
  else if (root.kind === 'file') run.progress.expect({ files: 1, bytes: root.size })
  else if (onProgress && estimate) {
    const ended = new AbortController()
    const visit = { entry: root, relativePath: '', policies, ignoring: rootIgnoring(ignoreRules) }
    const counting = clock
      .sleep(estimateAfter, ended.signal)
      .then(() => estimateTree(visit, new Pace(clock), ended.signal))
      .then(size => run.progress.expect(size))
      .catch(error => {
        if (ended.signal.aborted) return
        run.settings.log.debug({ error: String(error) }, 'the size of the tree could not be estimated')
      })
    try {
      return await work()
    } finally {
      ended.abort()
      await counting
    }
  }
  return work()
}
