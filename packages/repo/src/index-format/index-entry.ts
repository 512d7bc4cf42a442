import type { ContentId } from './content-id.ts'

/** Where a content lies, or that it was deleted. */
export interface IndexEntry {
  contentId: ContentId
  /** Whole Unix seconds of the writer's clock. */
  timestamp: number
  packBlobId: string
  packOffset: number
  /** Bytes in the pack, after compression and encryption. */
  packedLength: number
  /** Bytes of the plaintext before compression. */
  originalLength: number
  /** Compression header id; 0 means stored as it is. */
  compressionId: number
  formatVersion: number
  encryptionKeyId: number
  deleted: boolean
}

/** The fields that decide which of several entries for one content counts. */
export type EntryPrecedence = Pick<IndexEntry, 'timestamp' | 'deleted' | 'packBlobId'>

/**
 * Orders entries of one content by what counts: later, then not deleted, then the greater pack name.
 * Positive when `a` wins.
 */
export function compareEntries(a: EntryPrecedence, b: EntryPrecedence): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp
  if (a.deleted !== b.deleted) return a.deleted ? -1 : 1
  if (a.packBlobId === b.packBlobId) return 0
  return a.packBlobId > b.packBlobId ? 1 : -1
}

/** The entry that counts among several for one content; undefined for none. */
export function mergeEntries(entries: Iterable<IndexEntry>): IndexEntry | undefined {
  let best: IndexEntry | undefined
  for (const entry of entries) {
    if (best === undefined || compareEntries(entry, best) > 0) best = entry
  }
  return best
}

/** True when the entry is a deletion at or before the watermark (Unix seconds): the content does not exist. */
export function hiddenByWatermark(entry: EntryPrecedence, watermark: number): boolean {
  return entry.deleted && entry.timestamp <= watermark
}
