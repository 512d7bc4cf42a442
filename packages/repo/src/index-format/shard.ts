import type { ContentId } from './content-id.ts'
import type { EntryRecord } from './entry-record.ts'

/** More entries than this are spread over several index blobs. */
export const defaultShardSize = 16_000_000

const offsetBasis = 0x811c9dc5
const prime = 0x01000193
const hexDigits = Buffer.from('0123456789abcdef')

/** FNV-1a over the characters of an ASCII text, 32 bits. */
export function fnv1a(text: string): number {
  let hash = offsetBasis
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime)
  return hash >>> 0
}

/** Which of `shards` index blobs an entry belongs to. */
export function shardOf(contentId: ContentId, shards: number): number {
  return fnv1a(contentId) % shards
}

/** `shardOf` for a record, without making the id's text. */
export function shardOfRecord({ keyBytes, keyStart, keyLength }: EntryRecord, shards: number): number {
  const letter = keyBytes[keyStart] ?? 0
  let hash = letter === 0 ? offsetBasis : Math.imul(offsetBasis ^ letter, prime)
  for (let i = keyStart + 1; i < keyStart + keyLength; i++) {
    const byte = keyBytes[i] ?? 0
    hash = Math.imul(hash ^ (hexDigits[byte >> 4] ?? 0), prime)
    hash = Math.imul(hash ^ (hexDigits[byte & 15] ?? 0), prime)
  }
  return (hash >>> 0) % shards
}
