import { throwIfCancelled } from '../errors/repo-error.ts'
import { type GoTime, goTimeFromMillis } from '../go-json/go-time.ts'
import type { ManifestWriter } from '../manifest/manifest-store.ts'
import type { DirectoryEntry } from './directory.ts'
import type { UploadProgress } from './progress.ts'
import { applyRetention } from './retention.ts'
import { emptyStats, type SnapshotManifest, snapshotLabels, snapshotPayload } from './snapshot-manifest.ts'
import type { UploadRun } from './upload-run.ts'

/** What an upload left in the repository. */
export interface UploadResult {
  snapshot: SnapshotManifest
  /** The final counts. */
  progress: UploadProgress
}

/**
 * Puts a snapshot manifest and returns it with its id; others see it after the next flush.
 * Throws INVALID_ARGUMENT for an incomplete source or a tag that hides a label.
 */
export async function saveSnapshot(
  manifests: ManifestWriter,
  manifest: SnapshotManifest,
): Promise<SnapshotManifest> {
  return { ...manifest, id: await manifests.put(snapshotLabels(manifest), snapshotPayload(manifest)) }
}

/** Saves what is there so far as an incomplete snapshot, removes checkpoints that are not worth keeping, and flushes. */
export async function saveCheckpoint(
  run: UploadRun,
  startTime: GoTime,
  checkpoint: () => Promise<DirectoryEntry>,
): Promise<void> {
  const manifest = manifestOf(run, { startTime, rootEntry: await checkpoint() })
  await saveSnapshot(run.target.manifests, {
    ...manifest,
    stats: emptyStats(),
    incomplete: 'checkpoint',
    pins: [],
  })
  await finish(run)
}

/** Saves the snapshot of a finished upload, applies retention, and flushes. Throws CANCELLED, and what `confirm` throws. */
export async function saveUpload(
  run: UploadRun,
  upload: { startTime: GoTime; rootEntry: DirectoryEntry },
): Promise<UploadResult> {
  await run.settings.confirm?.()
  throwIfCancelled(run.signal)
  const { incomplete } = run
  const manifest = manifestOf(run, upload)
  const snapshot = await saveSnapshot(run.target.manifests, {
    ...manifest,
    ...(incomplete && { incomplete }),
  })
  await finish(run)
  run.progress.tell(true)
  return { snapshot, progress: run.progress.snapshot() }
}

async function finish(run: UploadRun): Promise<void> {
  if (run.settings.applyRetention !== false) {
    await applyRetention(run.target.manifests, run.settings.source, run.signal)
  }
  await run.target.flush(run.signal)
}

function manifestOf(
  run: UploadRun,
  upload: { startTime: GoTime; rootEntry: DirectoryEntry },
): SnapshotManifest {
  const { source, description, tags, pins, clock } = run.settings
  return {
    id: '',
    source,
    description,
    startTime: upload.startTime,
    endTime: goTimeFromMillis(clock.now()),
    stats: { ...run.stats },
    rootEntry: upload.rootEntry,
    tags: { ...tags },
    pins: [...pins],
  }
}
