import { type ContentId, contentIdFromBytes } from './content-id.ts'
import type { EntryPrecedence, IndexEntry } from './index-entry.ts'

/**
 * One entry as numbers and a view of its key, reused from entry to entry: walking a million of them leaves no
 * garbage. Whoever keeps one beyond the next step copies it with `toIndexEntry`.
 */
export interface EntryRecord extends EntryPrecedence {
  /** The bytes that hold the key at `keyStart`. */
  keyBytes: Uint8Array
  keyStart: number
  keyLength: number
  packOffset: number
  packedLength: number
  originalLength: number
  compressionId: number
  formatVersion: number
  encryptionKeyId: number
}

/** A record to be filled. */
export function emptyRecord(): EntryRecord {
  return {
    keyBytes: new Uint8Array(0),
    keyStart: 0,
    keyLength: 0,
    timestamp: 0,
    packBlobId: '',
    packOffset: 0,
    packedLength: 0,
    originalLength: 0,
    compressionId: 0,
    formatVersion: 0,
    encryptionKeyId: 0,
    deleted: false,
  }
}

/** The record as an entry of its own. Throws `CORRUPT` when the key is no content id. */
export function toIndexEntry(record: EntryRecord): IndexEntry {
  return {
    contentId: contentIdOfRecord(record),
    timestamp: record.timestamp,
    packBlobId: record.packBlobId,
    packOffset: record.packOffset,
    packedLength: record.packedLength,
    originalLength: record.originalLength,
    compressionId: record.compressionId,
    formatVersion: record.formatVersion,
    encryptionKeyId: record.encryptionKeyId,
    deleted: record.deleted,
  }
}

/** The content id in the record's key. Throws `CORRUPT` when the key is none. */
export function contentIdOfRecord(record: EntryRecord): ContentId {
  return contentIdFromBytes(record.keyBytes, record.keyStart, record.keyLength)
}
