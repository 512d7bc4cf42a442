import { corrupt } from '../errors/repo-error.ts'
import { type ContentId, contentIdToBytes } from './content-id.ts'
import { type EntryRecord, emptyRecord, toIndexEntry } from './entry-record.ts'
import type { IndexEntry } from './index-entry.ts'
import type { IndexLayout } from './index-layout.ts'
import { readIndexV1 } from './index-v1.ts'
import { readIndexV2 } from './index-v2.ts'
import { KeyFences, type PositionRange } from './key-fences.ts'

/** A parsed index blob: a sorted table read in place; no object is kept per entry. */
export interface PackIndex {
  readonly version: 1 | 2
  readonly count: number
  /** Bytes of memory that the table holds. */
  readonly byteLength: number
  readonly keyLength: number
  /** The entry of a content. Throws `CORRUPT` when the entry points outside the index. */
  get(contentId: ContentId): IndexEntry | undefined
  /** All entries in key order, one at a time. */
  entries(): Iterable<IndexEntry>
  /** The position of a key in its binary form, or -1. */
  find(key: Uint8Array): number
  /** The position of the first key that is not smaller. */
  lowerBound(key: Uint8Array): number
  /** Fills `into` with the entry at a position. Throws `CORRUPT` when the entry points outside the index. */
  read(position: number, into: EntryRecord): void
}

/** What the older index format leaves out. */
export interface ParseIndexOptions {
  /** Bytes that encryption adds; version 1 does not store the original length. */
  encryptionOverhead?: number
}

const aeadOverhead = 28

/**
 * Reads an index of version 1 or 2 in place; bytes after its end are ignored.
 * Throws `CORRUPT` when the bytes are cut short, out of order or no index.
 */
export function parseIndex(bytes: Uint8Array, options: ParseIndexOptions = {}): PackIndex {
  const version = bytes[0]
  if (version === 1) return new IndexTable(readIndexV1(bytes, options.encryptionOverhead ?? aeadOverhead))
  if (version === 2) return new IndexTable(readIndexV2(bytes))
  throw corrupt(
    version === undefined ? 'An index is empty' : `An index has version ${version}; 1 and 2 are known`,
  )
}

class IndexTable implements PackIndex {
  readonly version: 1 | 2
  readonly count: number
  readonly byteLength: number
  readonly keyLength: number
  readonly #layout: IndexLayout
  readonly #bytes: Uint8Array
  readonly #start: number
  readonly #stride: number
  #fences: KeyFences | undefined
  readonly #range = { low: 0, high: 0 }

  constructor(layout: IndexLayout) {
    this.version = layout.version
    this.count = layout.count
    this.byteLength = layout.bytes.length
    this.keyLength = layout.keyLength
    this.#layout = layout
    this.#bytes = layout.bytes
    this.#start = layout.entriesStart
    this.#stride = layout.stride
    this.#requireAscending()
  }

  get(contentId: ContentId): IndexEntry | undefined {
    const position = this.find(contentIdToBytes(contentId))
    return position === -1 ? undefined : this.#at(position)
  }

  *entries(): Iterable<IndexEntry> {
    for (let position = 0; position < this.count; position++) yield this.#at(position)
  }

  find(key: Uint8Array): number {
    if (key.length !== this.keyLength) return -1
    // Most indexes are only walked and merged; those that are searched are searched often.
    this.#fences ??= new KeyFences(this.#layout)
    this.#fences.around(key, this.#range)
    const position = this.#lowerBound(key, this.#range)
    return position < this.count && this.#compareAt(position, key) === 0 ? position : -1
  }

  lowerBound(key: Uint8Array): number {
    return this.#lowerBound(key, { low: 0, high: this.count })
  }

  read(position: number, into: EntryRecord): void {
    this.#layout.read(position, into)
  }

  #lowerBound(key: Uint8Array, range: PositionRange): number {
    let { low, high } = range
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compareAt(middle, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #at(position: number): IndexEntry {
    const record = emptyRecord()
    this.#layout.read(position, record)
    return toIndexEntry(record)
  }

  #compareAt(position: number, key: Uint8Array): number {
    const bytes = this.#bytes
    const start = this.#start + position * this.#stride
    const shared = Math.min(key.length, this.keyLength)
    for (let i = 0; i < shared; i++) {
      const difference = (bytes[start + i] ?? 0) - (key[i] ?? 0)
      if (difference !== 0) return difference
    }
    return this.keyLength - key.length
  }

  #requireAscending(): void {
    const stride = this.#stride
    for (let position = 1; position < this.count; position++) {
      const start = this.#start + position * stride
      let i = 0
      let difference = 0
      while (difference === 0 && i < this.keyLength) {
        difference = (this.#bytes[start + i] ?? 0) - (this.#bytes[start - stride + i] ?? 0)
        i++
      }
      if (difference <= 0) throw corrupt(`An index is out of order at entry ${position}`)
    }
  }
}
