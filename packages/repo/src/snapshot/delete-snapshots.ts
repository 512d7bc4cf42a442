import type { ManifestId, ManifestWriter } from '../manifest/manifest-store.ts'
import { snapshotMetadata } from './list-snapshots.ts'

/**
 * Deletes snapshots by id or unique beginning of an id, all or none: every id is resolved before the first is deleted.
 * Only manifests go; maintenance collects the data that nothing else uses. Visible to others after a flush, which is
 * the caller's. Throws MANIFEST_NOT_FOUND or INVALID_ARGUMENT for an id that names no snapshot or several.
 */
export async function deleteSnapshots(
  manifests: ManifestWriter,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ManifestId[]> {
  const wanted = new Set<ManifestId>()
  for (const id of ids) wanted.add((await snapshotMetadata(manifests, id, signal)).id)
  for (const id of wanted) await manifests.delete(id, signal)
  return [...wanted]
}
