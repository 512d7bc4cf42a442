import { RepoError } from '../errors/repo-error.ts'
import { contentKeyLength, writeContentKey } from './content-id.ts'
import { type EntryRecord, emptyRecord } from './entry-record.ts'
import { compareEntries, type IndexEntry } from './index-entry.ts'

/** Entries of an index to be, in the order of their keys and without duplicates. */
export interface SortedEntries {
  count: number
  /** Walks them; may be called again. The record is reused from step to step. */
  records: () => Iterable<EntryRecord>
}

/** The keys of a list of entries, one after the other. */
interface Keys {
  bytes: Buffer
  keyLength: number
}

/**
 * Sorts entries and keeps for each content the one that counts, without an object per entry. Throws `INVALID_ARGUMENT`
 * when ids differ in length.
 */
export function sortedEntries(entries: Iterable<IndexEntry>): SortedEntries {
  const list = Array.isArray(entries) ? (entries as readonly IndexEntry[]) : [...entries]
  const keys = keysOf(list)
  const order = winnersOf(list, keys, sortedPositions(list, keys))
  return { count: order.length, records: () => walk(list, keys, order) }
}

function keysOf(list: readonly IndexEntry[]): Keys {
  const keyLength = list[0] === undefined ? 0 : contentKeyLength(list[0].contentId)
  const bytes = Buffer.alloc(list.length * keyLength)
  let start = 0
  for (const { contentId } of list) {
    if (contentKeyLength(contentId) !== keyLength) throw differentLengths(contentId, keyLength)
    writeContentKey(contentId, bytes, start)
    start += keyLength
  }
  return { bytes, keyLength }
}

function differentLengths(contentId: string, keyLength: number): RepoError {
  return new RepoError('INVALID_ARGUMENT', {
    message: `One index cannot hold ${contentId} among ids whose keys have ${keyLength} bytes`,
  })
}

const mostPositions = 2 ** 24

/**
 * Positions in the order of keys, equal keys in the order of the list. Each becomes one number, the first bits of its key
 * above its position: numbers sort many times faster than anything with a comparison of ours.
 */
function sortedPositions(list: readonly IndexEntry[], keys: Keys): Uint32Array {
  const positions = 2 ** Math.ceil(Math.log2(Math.max(2, list.length)))
  const dropped = Math.max(1, positions / mostPositions)
  const bitsOf = (position: number): number => Math.floor(firstBits(keys, position) / dropped)
  const numbers = new Float64Array(list.length)
  for (let position = 0; position < list.length; position++) {
    numbers[position] = bitsOf(position) * positions + position
  }
  numbers.sort()
  const order = new Uint32Array(list.length)
  for (let at = 0; at < order.length; at++) order[at] = (numbers[at] ?? 0) % positions
  sortRuns(order, bitsOf, (a, b) => compareKeys(keys, a, b) || a - b)
  return order
}

const letterBase = 'g'.charCodeAt(0) - 1

/** 29 bits: which letter, and the beginning of the hash. They leave room for 2^24 positions in a number. */
function firstBits({ bytes, keyLength }: Keys, position: number): number {
  const start = position * keyLength
  const letter = bytes[start] ?? 0
  const hash = keyLength < 4 ? 0 : bytes.readUIntBE(start + 1, 3)
  return (letter === 0 ? 0 : letter - letterBase) * 2 ** 24 + hash
}

/** Sorts the stretches whose first bits are equal. */
function sortRuns(
  order: Uint32Array,
  bitsOf: (position: number) => number,
  compare: (a: number, b: number) => number,
): void {
  let start = 0
  let bits = -1
  for (let at = 0; at <= order.length; at++) {
    const here = at < order.length ? bitsOf(order[at] ?? 0) : -1
    if (here === bits) continue
    if (at - start > 1) order.subarray(start, at).sort(compare)
    start = at
    bits = here
  }
}

function winnersOf(list: readonly IndexEntry[], keys: Keys, order: Uint32Array): Uint32Array {
  let count = 0
  for (const position of order) {
    const last = order[count - 1] ?? 0
    if (count === 0 || compareKeys(keys, last, position) !== 0) order[count++] = position
    else if (wins(list[position], list[last])) order[count - 1] = position
  }
  return order.subarray(0, count)
}

function wins(entry: IndexEntry | undefined, over: IndexEntry | undefined): boolean {
  return entry !== undefined && over !== undefined && compareEntries(entry, over) > 0
}

function compareKeys({ bytes, keyLength }: Keys, a: number, b: number): number {
  const startA = a * keyLength
  const startB = b * keyLength
  for (let i = 0; i < keyLength; i++) {
    const difference = (bytes[startA + i] ?? 0) - (bytes[startB + i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function* walk(list: readonly IndexEntry[], keys: Keys, order: Uint32Array): Iterable<EntryRecord> {
  const record = emptyRecord()
  record.keyBytes = keys.bytes
  record.keyLength = keys.keyLength
  for (const position of order) {
    const entry = list[position]
    if (entry === undefined) continue
    record.keyStart = position * keys.keyLength
    record.timestamp = entry.timestamp
    record.packBlobId = entry.packBlobId
    record.packOffset = entry.packOffset
    record.packedLength = entry.packedLength
    record.originalLength = entry.originalLength
    record.compressionId = entry.compressionId
    record.formatVersion = entry.formatVersion
    record.encryptionKeyId = entry.encryptionKeyId
    record.deleted = entry.deleted
    yield record
  }
}
