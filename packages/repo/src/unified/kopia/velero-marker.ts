import { type BlobStorage, blobId } from '../../blob/storage.ts'
import { isRepoError, RepoError } from '../../errors/repo-error.ts'

/** The blob by which Velero knows that it has finished initialising a repository. */
export const veleroMarkerId = blobId('udmrepo.Repository')

/** What the marker says of a repository. */
export type MarkerState = 'absent' | 'matching' | 'foreign'

/** The marker for a repository with this unique id. */
export function serializeVeleroMarker(uniqueId: Uint8Array): Uint8Array {
  return Buffer.from(JSON.stringify({ uniqueID: Buffer.from(uniqueId).toString('base64') }))
}

/** Whether marker bytes belong to the repository with this unique id; anything unreadable does not. */
export function markerMatches(bytes: Uint8Array, uniqueId: Uint8Array): boolean {
  try {
    const marker = JSON.parse(Buffer.from(bytes).toString('utf8')) as { uniqueID?: unknown } | null
    return marker?.uniqueID === Buffer.from(uniqueId).toString('base64')
  } catch {
    return false
  }
}

/** Reads the marker beside a repository. Throws what the storage throws. */
export async function readMarkerState(
  storage: BlobStorage,
  uniqueId: Uint8Array,
  signal?: AbortSignal,
): Promise<MarkerState> {
  try {
    return markerMatches(await storage.get(veleroMarkerId, { signal }), uniqueId) ? 'matching' : 'foreign'
  } catch (error) {
    if (isRepoError(error, 'BLOB_NOT_FOUND')) return 'absent'
    throw error
  }
}

/** The error for a marker of another repository: the location was made from parts of two. */
export function foreignMarker(storage: BlobStorage): RepoError {
  return new RepoError('CORRUPT', {
    message: `the blob ${veleroMarkerId} in ${storage.description} belongs to another repository`,
    hint: 'restore kopia.repository of this location, or move the location away and let a new one be made',
    blobId: veleroMarkerId,
  })
}
