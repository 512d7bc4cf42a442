import { corrupt, RepoError } from '../errors/repo-error.ts'

/** The name of a content: an optional letter `g` to `z`, then the hash in lower-case hex. */
export type ContentId = string & { readonly kind: 'ContentId' }

const pattern = /^[g-z]?(?:[0-9a-f]{2})+$/
const longestHash = 64

/** Mints a content id from text; throws `INVALID_ARGUMENT` when the text is none. */
export function parseContentId(text: string): ContentId {
  if (!isContentId(text)) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `${JSON.stringify(text)} is not a content id`,
      hint: 'A content id is an optional letter g to z followed by the hash in lower-case hex.',
    })
  }
  return text
}

/** True when the text has the form of a content id. */
export function isContentId(text: string): text is ContentId {
  return text.length <= 1 + 2 * longestHash && pattern.test(text)
}

/** The id of a content with this hash; `prefix` is empty or one letter `g` to `z`. */
export function contentIdOf(prefix: string, hash: Uint8Array): ContentId {
  if (prefix !== '' && !/^[g-z]$/.test(prefix)) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `${JSON.stringify(prefix)} is not a content prefix (g to z)`,
    })
  }
  return (prefix + hex(hash, 0, hash.length)) as ContentId
}

/** The letter before the hash, or the empty string. */
export function prefixOf(id: ContentId): string {
  return id.length % 2 === 1 ? id.charAt(0) : ''
}

/** The hash that the id holds. */
export function hashOf(id: ContentId): Uint8Array {
  return Buffer.from(id.length % 2 === 1 ? id.slice(1) : id, 'hex')
}

/** The AEAD's view of the id: the last 16 bytes of the hash, or all of a shorter one. */
export function ivOf(id: ContentId): Uint8Array {
  return hashOf(id).subarray(-16)
}

/** Contents with a letter live in metadata packs (`q`), all others in data packs (`p`). */
export function packPrefixOf(id: ContentId): 'p' | 'q' {
  return id.length % 2 === 1 ? 'q' : 'p'
}

/** Bytes of the id in index blobs. */
export function contentKeyLength(id: ContentId): number {
  return 1 + (id.length >> 1)
}

/** Writes the form used in index blobs: the letter's byte (0 for none), then the hash. `into` must have room. */
export function writeContentKey(id: ContentId, into: Buffer, start = 0): void {
  const hasLetter = id.length % 2 === 1
  into[start] = hasLetter ? id.charCodeAt(0) : 0
  into.write(hasLetter ? id.slice(1) : id, start + 1, 'hex')
}

/** The form used in index blobs, in an array of its own. */
export function contentIdToBytes(id: ContentId): Uint8Array {
  const bytes = Buffer.alloc(contentKeyLength(id))
  writeContentKey(id, bytes)
  return bytes
}

/** Reads the index form out of `bytes[start, start + length)`; throws `CORRUPT` for an impossible letter. */
export function contentIdFromBytes(bytes: Uint8Array, start = 0, length = bytes.length - start): ContentId {
  const letter = bytes[start]
  const text = hex(bytes, start + 1, start + length)
  if (letter === 0) return text as ContentId
  if (letter === undefined || letter < 0x67 || letter > 0x7a) {
    throw corrupt(`An index key starts with byte ${letter}, which is no content prefix`)
  }
  return (String.fromCharCode(letter) + text) as ContentId
}

function hex(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('hex')
}
