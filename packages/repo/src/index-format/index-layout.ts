import { RepoError } from '../errors/repo-error.ts'
import type { EntryRecord } from './entry-record.ts'

/** Where the sorted table lies in an index blob and how one entry of it is read. */
export interface IndexLayout {
  version: 1 | 2
  bytes: Uint8Array
  count: number
  keyLength: number
  entriesStart: number
  /** Bytes from one entry to the next. */
  stride: number
  /** Fills the record. Throws `CORRUPT` when the entry points outside the index. */
  read: (position: number, into: EntryRecord) => void
}

/**
 * Entries in ascending key order without duplicates, walked more than once: the writers measure first and write
 * then, so that a merge of millions of entries needs no second copy.
 */
export type SortedRecords = () => Iterable<EntryRecord>

/** Offsets are 30 bits wide. */
export const offsetLimit = 2 ** 30
/** Lengths are 28 bits wide: one content has at most 256 MiB. */
export const lengthLimit = 2 ** 28

/** Throws `INVALID_ARGUMENT` when a record does not fit the index formats. */
export function requireFits(record: EntryRecord, keyLength: number): void {
  const { timestamp, packOffset, packedLength, originalLength, packBlobId } = record
  if (record.keyLength !== keyLength)
    throw unfit(`a key of ${record.keyLength} bytes among keys of ${keyLength}`)
  if (!within(packOffset, offsetLimit)) throw unfit(`pack offset ${packOffset}`)
  if (!within(packedLength, lengthLimit)) throw unfit(`packed length ${packedLength}`)
  if (!within(originalLength, lengthLimit)) throw unfit(`original length ${originalLength}`)
  if (!within(timestamp, 2 ** 32)) throw unfit(`timestamp ${timestamp}`)
  if (!within(packBlobId.length - 1, 255)) throw unfit(`pack name ${JSON.stringify(packBlobId)}`)
}

function within(value: number, limit: number): boolean {
  return value >= 0 && value < limit
}

function unfit(reason: string): RepoError {
  return new RepoError('INVALID_ARGUMENT', { message: `An index entry cannot be stored: ${reason}` })
}
