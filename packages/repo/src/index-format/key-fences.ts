import type { IndexLayout } from './index-layout.ts'

/** Positions `low` (inclusive) to `high` (exclusive). */
export interface PositionRange {
  low: number
  high: number
}

type Table = Pick<IndexLayout, 'bytes' | 'count' | 'entriesStart' | 'stride' | 'keyLength'>

const entriesPerSlice = 2
const fewEntries = 64
/** Fences look at this many bits of the hash. */
const hashBits = 24
const shortestKey = 1 + hashBits / 8

/**
 * Shortens the search in one index. Hashes are spread evenly, so cutting them into slices of equal width leaves a few entries
 * in each; the fences are the positions where slices begin. Two bytes of memory per entry. Contents with a letter are few and
 * share one slice. Right for any keys, fast for hashes.
 */
export class KeyFences {
  readonly #count: number
  readonly #shift: number
  /** One more than there are slices; undefined for an index that is searched as quickly without. */
  readonly #fences: Uint32Array | undefined

  constructor(table: Table) {
    this.#count = table.count
    const sliceBits = Math.min(hashBits, Math.floor(Math.log2(Math.max(1, table.count / entriesPerSlice))))
    this.#shift = hashBits - sliceBits
    if (table.count >= fewEntries && table.keyLength >= shortestKey) {
      this.#fences = fencesOf(table, { slices: 1 << sliceBits, shift: this.#shift })
    }
  }

  /** Narrows `range` to the positions that may hold the key, which has the length of the index's keys. */
  around(key: Uint8Array, range: PositionRange): void {
    const fences = this.#fences
    range.low = 0
    range.high = this.#count
    if (fences === undefined) return
    const slice = key[0] === 0 ? hashStart(key, 1) >>> this.#shift : fences.length - 1
    range.low = fences[slice] ?? 0
    range.high = fences[slice + 1] ?? this.#count
  }
}

function fencesOf(table: Table, { slices, shift }: { slices: number; shift: number }): Uint32Array {
  const { bytes, count, entriesStart, stride } = table
  const fences = new Uint32Array(slices + 1)
  let next = 0
  let start = entriesStart
  let position = 0
  for (; position < count && bytes[start] === 0; position++) {
    const slice = hashStart(bytes, start + 1) >>> shift
    while (next <= slice) fences[next++] = position
    start += stride
  }
  while (next <= slices) fences[next++] = position
  return fences
}

function hashStart(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
}
