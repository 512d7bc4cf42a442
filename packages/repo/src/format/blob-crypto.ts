import { type BlobId, blobId } from '../blob/storage.ts'
import type { ContentEncryption } from '../encryption/content-encryption.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { ContentHash } from '../hashing/content-hash.ts'

/** What encrypts whole blobs: indexes, session markers, logs, legacy compaction logs. */
export interface BlobCrypto {
  hash: ContentHash
  encryption: ContentEncryption
}

/** A whole blob ready to be put. */
export interface EncryptedBlob {
  id: BlobId
  bytes: Uint8Array
}

const ivHexLength = 32

/** Names a blob by its plaintext's hash and encrypts it; `suffix` follows a dash when given, even if empty. */
export function encryptBlob(
  plaintext: Uint8Array,
  { prefix, suffix }: { prefix: string; suffix?: string | undefined },
  { hash, encryption }: BlobCrypto,
): EncryptedBlob {
  const digest = hash.hash(plaintext)
  const name = `${prefix}${Buffer.from(digest).toString('hex')}`
  const id = blobId(suffix === undefined ? name : `${name}-${suffix}`)
  return { id, bytes: encryption.encrypt(plaintext, digest.subarray(-ivHexLength / 2)) }
}

/** Decrypts a blob that `encryptBlob` made. Throws `CORRUPT`, naming the blob. */
export function decryptBlob(
  id: string,
  bytes: Uint8Array,
  { encryption }: Pick<BlobCrypto, 'encryption'>,
): Uint8Array {
  try {
    return encryption.decrypt(bytes, blobIv(id))
  } catch (cause) {
    throw undecryptable(id, cause)
  }
}

const indexName = /^(x[nsr]\d|n[0-9a-f]{32})/

/** Whether a blob of this name is an index. */
export function isIndexName(id: string): boolean {
  return indexName.test(id)
}

/** Without one of its indexes a repository does not open, so that the error says how to get in. */
function undecryptable(id: string, cause: unknown): RepoError {
  const what = isIndexName(id) ? 'index blob' : 'blob'
  return new RepoError('CORRUPT', {
    message: `The ${what} ${id} is damaged: it does not decrypt`,
    hint: isIndexName(id)
      ? 'Read the repository with --rebuild-indexes, which takes the index from the packs; `lateen-repo index repair` replaces the blob.'
      : 'Run verify to see what depends on it.',
    blobId: id,
    cause,
  })
}

/** The last 16 bytes of the hash in a blob's name. Throws `CORRUPT` when the name holds no hash. */
export function blobIv(id: string): Uint8Array {
  const [stem = ''] = id.split('-', 1)
  const hex = stem.slice(-ivHexLength)
  if (!/^[0-9a-f]{32}$/.test(hex))
    throw new RepoError('CORRUPT', { message: `The blob name ${id} holds no hash`, blobId: id })
  return Buffer.from(hex, 'hex')
}
