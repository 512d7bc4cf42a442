import { compressionIdOf, compressorByName, decompress } from '../compression/compressor.ts'
import type { ContentEncryption } from '../encryption/content-encryption.ts'
import { corrupt, isRepoError, RepoError } from '../errors/repo-error.ts'
import type { ContentHash } from '../hashing/content-hash.ts'
import { type ContentId, contentIdOf, ivOf, prefixOf } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'

/** What turns contents into the bytes of a pack and back. */
export interface ContentCodec {
  readonly hash: ContentHash
  readonly encryption: ContentEncryption
  /** Hashes every content again after reading, beyond what the cipher's tag already proves. */
  readonly rehash?: boolean | undefined
}

/** A content as it goes into a pack. */
export interface SealedContent {
  sealed: Uint8Array
  originalLength: number
  compressionId: number
}

/** Names a content by its bytes. Throws `INVALID_ARGUMENT` for an impossible prefix. */
export function idOfContent(codec: ContentCodec, data: Uint8Array, prefix = ''): ContentId {
  return contentIdOf(prefix, codec.hash.hash(data))
}

// The index has 28 bits for the length of a content in its pack, and encryption and error correction add to it.
const longestContent = 192 << 20

/** Compresses a content where that makes it shorter, then encrypts it. Throws `INVALID_ARGUMENT` for one too long. */
export function sealContent(
  { encryption }: ContentCodec,
  { id, data, compressor }: { id: ContentId; data: Uint8Array; compressor?: string | undefined },
): SealedContent {
  if (data.length > longestContent) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `A content of ${data.length} bytes is too long; ${longestContent} is the most`,
      contentId: id,
    })
  }
  const { bytes, compressionId } = shortest(data, compressor)
  return { sealed: encryption.encrypt(bytes, ivOf(id)), originalLength: data.length, compressionId }
}

/** The content in these bytes of a pack. Throws `CORRUPT`, naming content and pack. */
export function openContent(codec: ContentCodec, entry: IndexEntry, sealed: Uint8Array): Uint8Array {
  const { contentId, packBlobId, originalLength } = entry
  try {
    const data = unpack(entry, codec.encryption.decrypt(sealed, ivOf(contentId)))
    if (data.length !== originalLength)
      throw corrupt(`It has ${data.length} bytes instead of ${originalLength}`)
    if (codec.rehash && idOfContent(codec, data, prefixOf(contentId)) !== contentId)
      throw corrupt('Its hash is another')
    return data
  } catch (cause) {
    if (!isRepoError(cause, 'CORRUPT')) throw cause
    throw corrupt(`Content ${contentId} in blob ${packBlobId} is damaged. ${cause.message}`, {
      contentId,
      blobId: packBlobId,
      hint: 'run verify to see which files need it',
      cause,
    })
  }
}

function shortest(data: Uint8Array, compressor: string | undefined) {
  if (compressor !== undefined && compressor !== 'none') {
    const { id, compress } = compressorByName(compressor)
    const bytes = compress(data)
    if (bytes.length < data.length) return { bytes, compressionId: id }
  }
  return { bytes: data, compressionId: 0 }
}

function unpack({ compressionId }: IndexEntry, bytes: Uint8Array): Uint8Array {
  if (compressionId === 0) return bytes
  if (compressionIdOf(bytes) !== compressionId) throw corrupt('Its compression is not what the index says')
  return decompress(bytes)
}
