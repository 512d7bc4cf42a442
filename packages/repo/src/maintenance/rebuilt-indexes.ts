import { type BlobId, type BlobMetadata, type BlobStorage, blobId } from '../blob/storage.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { type BlobCrypto, blobIv, decryptBlob } from '../format/blob-crypto.ts'
import { type PackIndex, parseIndex } from '../index-format/pack-index.ts'
import { mergeIndexBlobs } from '../index-format/serialize-index.ts'
import { recoverPackIndex } from '../pack/recover-pack-index.ts'

/** What rebuilding indexes needs. */
export interface RebuiltIndexesOptions {
  crypto: BlobCrypto
  /** Told of every index blob that was damaged, and how many packs it was rebuilt from. */
  onRebuilt?: (damaged: { blobId: BlobId; packs: number; error: RepoError }) => void
}

const indexName = /^(x[nsr]\d|n[0-9a-f]{32})/

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
      const error = whole && indexName.test(id) ? indexProblem(id, bytes, options.crypto) : undefined
      return error === undefined
        ? bytes
        : rebuild(storage, { ...options, id, error, signal: getOptions.signal })
    },
    put: id => Promise.reject(readOnly(id)),
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

interface Rebuild extends RebuiltIndexesOptions {
  id: BlobId
  error: RepoError
  signal: AbortSignal | undefined
}

async function rebuild(
  storage: BlobStorage,
  { id, error, crypto, onRebuilt, signal }: Rebuild,
): Promise<Uint8Array> {
  const indexes: PackIndex[] = []
  for await (const { id: pack, length } of packsOf(storage, sessionOf(id), signal)) {
    const read = (offset: number, size: number) => storage.get(pack, { offset, length: size, signal })
    try {
      indexes.push(await recoverPackIndex({ packBlobId: pack, length, read }, crypto.encryption))
    } catch (cause) {
      if (!isRepoError(cause, 'CORRUPT')) throw cause
    }
  }
  onRebuilt?.({ blobId: id, packs: indexes.length, error })
  const [plaintext] = mergeIndexBlobs(indexes, {
    version: id.startsWith('x') ? 2 : 1,
    shardSize: Number.MAX_SAFE_INTEGER,
  })
  if (plaintext === undefined) throw error
  return crypto.encryption.encrypt(plaintext, blobIv(id))
}

async function* packsOf(
  storage: BlobStorage,
  session: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<BlobMetadata> {
  for (const prefix of ['p', 'q']) {
    for await (const pack of storage.list(prefix, { signal })) {
      if (session === undefined || pack.id.endsWith(`-${session}`)) yield pack
    }
  }
}

/** The session that wrote an index and its packs; undefined for a compaction, which may stand for any packs. */
function sessionOf(id: BlobId): string | undefined {
  const [stem = '', session = ''] = id.split('-')
  return stem.startsWith('xs') || stem.startsWith('xr') || session === '' ? undefined : session
}

function readOnly(id: string): RepoError {
  return new RepoError('READ_ONLY', {
    message: `blob ${id} is not changed: the repository was opened with rebuilt indexes`,
    hint: 'repair the indexes with `kopia index recover --commit`, then open it as usual',
    blobId: blobId(id),
  })
}
