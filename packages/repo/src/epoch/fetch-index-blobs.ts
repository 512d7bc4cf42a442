import { type BlobMetadata, type BlobStorage, blobId } from '../blob/storage.ts'
import { isRepoError } from '../errors/repo-error.ts'
import { type BlobCrypto, decryptBlob } from '../format/blob-crypto.ts'
import { forEachParallel } from './for-each-parallel.ts'

/** Where index blobs come from and how they are opened. */
export interface IndexBlobSource {
  storage: BlobStorage
  crypto: Pick<BlobCrypto, 'encryption'>
  /** Blobs in flight at once. */
  parallel?: number
  signal?: AbortSignal | undefined
}

const defaultParallel = 5

/**
 * Gets and decrypts index blobs, a few at a time, and hands each plaintext over as it comes, in no certain order.
 * Throws `BLOB_NOT_FOUND` when one vanished, `CORRUPT` when one is damaged.
 */
export async function fetchIndexBlobs(
  names: Iterable<string>,
  source: IndexBlobSource,
  receive: (name: string, plaintext: Uint8Array) => void,
): Promise<void> {
  const { signal, parallel = defaultParallel } = source
  await forEachParallel(names, { limit: parallel, signal }, async name => {
    receive(name, await fetchIndexBlob(name, source))
  })
}

async function fetchIndexBlob(
  name: string,
  { storage, crypto, signal }: IndexBlobSource,
): Promise<Uint8Array> {
  const id = blobId(name)
  const sealed = await storage.get(id, { signal })
  try {
    return decryptBlob(name, sealed, crypto)
  } catch (error) {
    if (!isRepoError(error, 'CORRUPT')) throw error
    // Damaged on the way, or before a cache took it; what the storage holds decides.
    return decryptBlob(name, await storage.get(id, { fresh: true, signal }), crypto)
  }
}

/** The plaintexts of some index blobs, all of them in memory. */
export async function fetchAllIndexBlobs(
  blobs: readonly Pick<BlobMetadata, 'id'>[],
  source: IndexBlobSource,
): Promise<Uint8Array[]> {
  const plaintexts: Uint8Array[] = []
  const names = blobs.map(({ id }) => id)
  await fetchIndexBlobs(names, source, (_, plaintext) => plaintexts.push(plaintext))
  return plaintexts
}
