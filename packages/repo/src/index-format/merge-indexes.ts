import { type EntryRecord, emptyRecord } from './entry-record.ts'
import { compareEntries } from './index-entry.ts'
import type { PackIndex } from './pack-index.ts'

/** Limits a walk to keys from `from` (inclusive) to `to` (exclusive); both in the index's binary form. */
export interface KeyRange {
  from?: Uint8Array | undefined
  to?: Uint8Array | undefined
}

/**
 * Walks any number of sorted indexes as one: ascending keys, and for each the entry that counts. Deleted entries are
 * included. The record that is yielded is reused. Memory does not grow with the number of entries.
 */
export function* mergeIndexes(indexes: Iterable<PackIndex>, range: KeyRange = {}): Iterable<EntryRecord> {
  const heap = new CursorHeap()
  for (const index of indexes) {
    const position = range.from === undefined ? 0 : index.lowerBound(range.from)
    const end = range.to === undefined ? index.count : index.lowerBound(range.to)
    if (position < end) heap.push(new Cursor(index, position, end))
  }
  const best = emptyRecord()
  for (let first = heap.top(); first !== undefined; first = heap.top()) {
    takeTop(first, heap, best)
    yield best
  }
}

/** Leaves the winner among the entries with the smallest key in `best` and moves past all of them. */
function takeTop(first: Cursor, heap: CursorHeap, best: EntryRecord): void {
  copyRecord(first.record, best)
  heap.advanceTop()
  for (let next = heap.top(); next !== undefined; next = heap.top()) {
    if (compareRecordKeys(next.record, best) !== 0) return
    if (compareEntries(next.record, best) > 0) copyRecord(next.record, best)
    heap.advanceTop()
  }
}

class Cursor {
  readonly record: EntryRecord = emptyRecord()
  readonly #index: PackIndex
  readonly #end: number
  #position: number

  constructor(index: PackIndex, position: number, end: number) {
    this.#index = index
    this.#end = end
    this.#position = position
    index.read(position, this.record)
  }

  /** False at the end. */
  advance(): boolean {
    this.#position++
    if (this.#position >= this.#end) return false
    this.#index.read(this.#position, this.record)
    return true
  }
}

/** A binary heap of cursors, smallest key on top. */
class CursorHeap {
  readonly #cursors: Cursor[] = []

  top(): Cursor | undefined {
    return this.#cursors[0]
  }

  push(cursor: Cursor): void {
    const cursors = this.#cursors
    cursors.push(cursor)
    let child = cursors.length - 1
    while (child > 0) {
      const parent = (child - 1) >> 1
      if (!this.#swapIfSmaller(child, parent)) return
      child = parent
    }
  }

  advanceTop(): void {
    const cursors = this.#cursors
    const top = cursors[0]
    if (top === undefined) return
    if (!top.advance()) {
      const last = cursors.pop()
      if (last === undefined || last === top) return
      cursors[0] = last
    }
    this.#sink()
  }

  #sink(): void {
    let parent = 0
    for (;;) {
      const left = 2 * parent + 1
      const right = left + 1
      const smaller = right < this.#cursors.length && this.#isSmaller(right, left) ? right : left
      if (smaller >= this.#cursors.length || !this.#swapIfSmaller(smaller, parent)) return
      parent = smaller
    }
  }

  #isSmaller(a: number, b: number): boolean {
    const x = this.#cursors[a]
    const y = this.#cursors[b]
    return x !== undefined && y !== undefined && compareRecordKeys(x.record, y.record) < 0
  }

  #swapIfSmaller(child: number, parent: number): boolean {
    const x = this.#cursors[child]
    const y = this.#cursors[parent]
    if (x === undefined || y === undefined || compareRecordKeys(x.record, y.record) >= 0) return false
    this.#cursors[child] = y
    this.#cursors[parent] = x
    return true
  }
}

function compareRecordKeys(a: EntryRecord, b: EntryRecord): number {
  const shared = Math.min(a.keyLength, b.keyLength)
  for (let i = 0; i < shared; i++) {
    const difference = (a.keyBytes[a.keyStart + i] ?? 0) - (b.keyBytes[b.keyStart + i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.keyLength - b.keyLength
}

function copyRecord(from: EntryRecord, to: EntryRecord): void {
  to.keyBytes = from.keyBytes
  to.keyStart = from.keyStart
  to.keyLength = from.keyLength
  to.timestamp = from.timestamp
  to.packBlobId = from.packBlobId
  to.packOffset = from.packOffset
  to.packedLength = from.packedLength
  to.originalLength = from.originalLength
  to.compressionId = from.compressionId
  to.formatVersion = from.formatVersion
  to.encryptionKeyId = from.encryptionKeyId
  to.deleted = from.deleted
}
