import { type BlobId, type BlobMetadata, type BlobStorage, blobId } from '../blob/storage.ts'
import { forEachParallel } from '../epoch/for-each-parallel.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { type BlobCrypto, blobIv, decryptBlob, isIndexName } from '../format/blob-crypto.ts'
import { type PackIndex, parseIndex } from '../index-format/pack-index.ts'
import { mergeIndexBlobs, serializeIndex } from '../index-format/serialize-index.ts'
import { recoverPackIndex } from '../pack/recover-pack-index.ts'

/** An index blob that is damaged, and what the packs know of its entries. */
export interface RebuiltIndex {
  readonly blobId: BlobId
  /** What is wrong with the blob. */
  readonly error: RepoError
  /** How many packs told what they hold. */
  readonly packs: number
  /** Packs that could not tell: what they hold is known only if another index has it. */
  readonly lostPacks: readonly BlobId[]
  /** The index that replaces it, as plaintext. */
  readonly plaintext: Uint8Array
}

/** What rebuilding indexes needs. */
export interface RebuiltIndexesOptions {
  crypto: BlobCrypto
  /** Told of every index blob that was damaged. */
  onRebuilt?: (rebuilt: RebuiltIndex) => void
}

/**
 * A storage that gives the indexes inside packs where an index blob is damaged, so that a repository with a damaged index
 * opens and everything else in it can be restored. The damaged blob stays as it is. Deletions that no pack records come
 * back to life, so this is for reading only: putting and deleting throw READ_ONLY.
 */
export function withRebuiltIndexes(storage: BlobStorage, options: RebuiltIndexesOptions): BlobStorage {
  return {
    description: storage.description,
    head: (id, headOptions) => storage.head(id, headOptions),
    list: (prefix, listOptions) => storage.list(prefix, listOptions),
    async get(id, getOptions = {}) {
      const bytes = await storage.get(id, getOptions)
      const whole = getOptions.offset === undefined && getOptions.length === undefined
      if (!(whole && isIndexName(id) && indexProblem(id, bytes, options.crypto))) return bytes
      const again = await storage.get(id, { ...getOptions, fresh: true })
      const error = indexProblem(id, again, options.crypto)
      if (error === undefined) return again
      const rebuilt = await rebuild(storage, { ...options, id, error, signal: getOptions.signal })
      options.onRebuilt?.(rebuilt)
      return options.crypto.encryption.encrypt(rebuilt.plaintext, blobIv(id))
    },
    put: id => Promise.reject(readOnly(id)),
    retain: id => Promise.reject(readOnly(id)),
    delete: id => Promise.reject(readOnly(id)),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

function indexProblem(id: BlobId, bytes: Uint8Array, { encryption }: BlobCrypto): RepoError | undefined {
  try {
    parseIndex(decryptBlob(id, bytes, { encryption }), { encryptionOverhead: encryption.overhead })
    return undefined
  } catch (error) {
    if (isRepoError(error, 'CORRUPT')) return error
    throw error
  }
}

interface Rebuild {
  id: BlobId
  error: RepoError
  crypto: BlobCrypto
  signal: AbortSignal | undefined
}

const packsReadAtOnce = 16
// Version 2 cannot say that there is nothing.
const noEntries = serializeIndex([], 1)

/** Packs of a session that only marked contents deleted do not exist: then nothing is in the index. */
async function rebuild(storage: BlobStorage, { id, error, crypto, signal }: Rebuild): Promise<RebuiltIndex> {
  const indexes: PackIndex[] = []
  const lostPacks: BlobId[] = []
  const packs = await packsOf(storage, sessionOf(id), signal)
  await forEachParallel(packs, { limit: packsReadAtOnce, signal }, async ({ id: pack, length }) => {
    const read = (offset: number, size: number) => storage.get(pack, { offset, length: size, signal })
    try {
      indexes.push(await recoverPackIndex({ packBlobId: pack, length, read }, crypto.encryption))
    } catch (cause) {
      if (!isRepoError(cause, 'CORRUPT')) throw cause
      lostPacks.push(pack)
    }
  })
  const version = id.startsWith('x') ? 2 : 1
  const [plaintext = noEntries] = mergeIndexBlobs(indexes, { version, shardSize: Number.MAX_SAFE_INTEGER })
  return { blobId: id, error, packs: indexes.length, lostPacks, plaintext }
}

async function packsOf(
  storage: BlobStorage,
  session: string | undefined,
  signal: AbortSignal | undefined,
): Promise<BlobMetadata[]> {
  const packs: BlobMetadata[] = []
  for (const prefix of ['p', 'q']) {
    for await (const pack of storage.list(prefix, { signal })) {
      if (session === undefined || pack.id.endsWith(`-${session}`)) packs.push(pack)
    }
  }
  return packs
}

/** The session that wrote an index and its packs; undefined for a compaction, which may stand for any packs. */
function sessionOf(id: BlobId): string | undefined {
  const [stem = '', session = ''] = id.split('-')
  return stem.startsWith('xs') || stem.startsWith('xr') || session === '' ? undefined : session
}

function readOnly(id: string): RepoError {
  return new RepoError('READ_ONLY', {
    message: `blob ${id} is not changed: the repository was opened with rebuilt indexes`,
    hint: 'repair the indexes with `lateen-repo index repair`, then open it as usual',
    blobId: blobId(id),
  })
}
