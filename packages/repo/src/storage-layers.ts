import path from 'node:path'
import type { BlobStorage } from './blob/storage.ts'
import { readOnly } from './blob/wrap/read-only.ts'
import { retaining } from './blob/wrap/retaining.ts'
import type { Clock } from './clock/clock.ts'
import { isRepoError, RepoError } from './errors/repo-error.ts'
import type { BlobConfig } from './format/blob-config.ts'
import type { BlobCrypto } from './format/blob-crypto.ts'
import type { OpenFormat } from './format/repository-format.ts'
import type { RebuiltIndex } from './maintenance/rebuilt-indexes.ts'

/** A cache on disk of what was read from a storage. */
export interface RepositoryCache {
  /** Each repository gets a folder of its own below it. Processes may share it. */
  folder: string
  /** For metadata packs and indexes: 5 GB when not given, 0 for none. */
  metadataBytes?: number | undefined
  /** For file data: 5 GB when not given, 0 for none. */
  contentBytes?: number | undefined
}

/** What may stand between a repository and its storage. */
export interface StorageLayers {
  cache?: RepositoryCache | undefined
  /** Takes the entries of damaged index blobs from the packs, and is told of each; the repository is then read-only. */
  onRebuiltIndex?: ((rebuilt: RebuiltIndex) => void) | undefined
  readOnly?: boolean | undefined
  clock: Clock
  /** Told when the cache cannot be used, once for each reason. */
  onIgnoredError?: ((error: RepoError) => void) | undefined
}

/**
 * The storage as an opened repository uses it: it protects new blobs as the repository says, caches, rebuilds, refuses.
 * What is not asked for is not loaded.
 */
export async function layeredStorage(
  storage: BlobStorage,
  { format, crypto }: { format: OpenFormat; crypto: BlobCrypto },
  layers: StorageLayers,
): Promise<BlobStorage> {
  let layered = retainingAs(storage, format.blobConfig, layers.clock)
  if (layers.cache !== undefined) layered = await cached(layered, format, { ...layers, cache: layers.cache })
  if (layers.onRebuiltIndex !== undefined) {
    const { withRebuiltIndexes } = await import('./maintenance/rebuilt-indexes.ts')
    layered = withRebuiltIndexes(layered, { crypto, onRebuilt: layers.onRebuiltIndex })
  }
  return layers.readOnly ? readOnly(layered) : layered
}

/** The storage with new blobs protected as a configuration says. */
export function retainingAs(storage: BlobStorage, { retention }: BlobConfig, clock: Clock): BlobStorage {
  if (retention === undefined) return storage
  return retaining(storage, { mode: retention.mode, periodMs: retention.period, clock })
}

async function cached(
  storage: BlobStorage,
  { uniqueId, keys }: OpenFormat,
  { cache, clock, onIgnoredError }: StorageLayers & { cache: RepositoryCache },
): Promise<BlobStorage> {
  const { caching } = await import('./blob/wrap/caching.ts')
  const folder = path.join(cache.folder, Buffer.from(uniqueId).toString('hex').slice(0, 32))
  const told = new Set<string>()
  const onProblem = (cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const kind = cause instanceof Error && 'code' in cause ? String(cause.code) : reason
    if (told.has(kind)) return
    told.add(kind)
    onIgnoredError?.(isRepoError(cause) ? cause : unusable(folder, reason, cause))
  }
  const { metadataBytes, contentBytes } = cache
  return caching(storage, { folder, key: keys.cache, metadataBytes, contentBytes, clock, onProblem })
}

function unusable(folder: string, reason: string, cause: unknown): RepoError {
  return new RepoError('STORAGE_FAILED', {
    message: `The cache in ${folder} is not used: ${reason}`,
    hint: 'Everything works without it, only slower; make room or choose another folder.',
    path: folder,
    cause,
  })
}
