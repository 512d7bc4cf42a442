import { corrupt } from '../errors/repo-error.ts'
import { type ContentId, contentKeyLength, writeContentKey } from './content-id.ts'
import { type EntryRecord, emptyRecord, toIndexEntry } from './entry-record.ts'
import { compareEntries, hiddenByWatermark, type IndexEntry } from './index-entry.ts'
import { type KeyRange, mergeIndexes } from './merge-indexes.ts'
import { type PackIndex, type ParseIndexOptions, parseIndex } from './pack-index.ts'
import { mergeIndexBlobs } from './serialize-index.ts'

/** Which contents a walk covers. */
export interface IndexWalk {
  /** Only contents with this letter; the empty string means those without one. Absent means all. */
  prefix?: string | undefined
}

/** What the next state of an index set is made for. */
export interface IndexSetTarget {
  blobNames: Iterable<string>
  /** Unix seconds; deletions up to it hide their contents. */
  deletionWatermark: number
}

/**
 * The committed index of a repository: all its index blobs, looked up as one. Immutable, so readers keep a
 * consistent view while the next one is built; about 35 bytes of memory per entry.
 */
export interface IndexSet {
  readonly blobNames: ReadonlySet<string>
  readonly deletionWatermark: number
  /** Entries in all blobs, those hidden or superseded included. */
  readonly storedEntries: number
  /** The entry that counts, deleted or not; undefined when there is none or the watermark hides it. */
  get(contentId: ContentId): IndexEntry | undefined
  /** Entries that count, in key order, deleted ones included unless the watermark hides them. */
  entries(walk?: IndexWalk): Iterable<IndexEntry>
  /** `entries` without an object per entry: the record is reused from step to step. */
  records(walk?: IndexWalk): Iterable<EntryRecord>
  /** Begins the next state; what both states have in common is shared, not loaded again. */
  next(target: IndexSetTarget): IndexSetBuilder
}

/** Collects the blobs that a new index set needs. */
export interface IndexSetBuilder {
  /** Blobs whose plaintext must be handed to `add` before `build`. */
  readonly missing: readonly string[]
  /** Throws `CORRUPT`, naming the blob, when the plaintext is no index. */
  add(blobName: string, plaintext: Uint8Array): void
  build(): IndexSet
}

/** A part of the set: one blob, or several merged. */
interface Segment {
  names: ReadonlySet<string>
  /** More than one only beyond the shard size. */
  indexes: readonly PackIndex[]
}

// A lookup searches every segment, so few of them; but merging costs more than opening, so not for each one more.
const mostSegments = 16
const segmentsAfterMerge = 8

/** An index set without blobs. */
export function emptyIndexSet(options: ParseIndexOptions = {}): IndexSet {
  return createIndexSet([], { blobNames: [], deletionWatermark: 0 }, options)
}

function createIndexSet(
  segments: readonly Segment[],
  target: IndexSetTarget,
  options: ParseIndexOptions,
): IndexSet {
  const { deletionWatermark } = target
  const indexes = segments.flatMap(segment => segment.indexes)
  const records = function* (walk: IndexWalk = {}): Iterable<EntryRecord> {
    for (const record of mergeIndexes(indexes, rangeOf(walk))) {
      if (!hiddenByWatermark(record, deletionWatermark)) yield record
    }
  }
  return {
    blobNames: new Set(target.blobNames),
    deletionWatermark,
    storedEntries: segments.reduce((sum, segment) => sum + entriesIn(segment), 0),
    get: createLookUp(indexes, deletionWatermark),
    records,
    *entries(walk) {
      for (const record of records(walk)) yield toIndexEntry(record)
    },
    next: nextTarget => createBuilder(segments, nextTarget, options),
  }
}

function createBuilder(
  current: readonly Segment[],
  target: IndexSetTarget,
  options: ParseIndexOptions,
): IndexSetBuilder {
  const wanted = new Set(target.blobNames)
  const segments = current.filter(({ names }) => names.isSubsetOf(wanted))
  const kept = new Set(segments.flatMap(({ names }) => [...names]))
  return {
    missing: [...wanted.difference(kept)],
    add(blobName, plaintext) {
      segments.push({ names: new Set([blobName]), indexes: [parseNamed(blobName, plaintext, options)] })
    },
    build: () => createIndexSet(mergeSmallest(segments, options), { ...target, blobNames: wanted }, options),
  }
}

function parseNamed(blobName: string, plaintext: Uint8Array, options: ParseIndexOptions): PackIndex {
  try {
    return parseIndex(plaintext, options)
  } catch (cause) {
    throw corrupt(`The index blob ${blobName} cannot be read`, { blobId: blobName, cause })
  }
}

function mergeSmallest(segments: readonly Segment[], options: ParseIndexOptions): Segment[] {
  if (segments.length <= mostSegments) return [...segments]
  const sorted = segments.toSorted((a, b) => entriesIn(a) - entriesIn(b))
  const excess = sorted.length - segmentsAfterMerge
  const small = sorted.slice(0, excess + 1)
  const inputs = small.flatMap(({ indexes }) => indexes)
  const merged = mergeIndexBlobs(inputs, { version: 2 }).map(plaintext => parseIndex(plaintext, options))
  const names = new Set(small.flatMap(segment => [...segment.names]))
  return [{ names, indexes: merged }, ...sorted.slice(excess + 1)]
}

function entriesIn({ indexes }: Segment): number {
  return indexes.reduce((sum, { count }) => sum + count, 0)
}

/** Looks contents up in all indexes. An upload asks for every content and mostly finds none: that takes no memory. */
function createLookUp(
  indexes: readonly PackIndex[],
  watermark: number,
): (contentId: ContentId) => IndexEntry | undefined {
  let key = Buffer.alloc(0)
  return contentId => {
    const length = contentKeyLength(contentId)
    if (key.length !== length) key = Buffer.alloc(length)
    writeContentKey(contentId, key)
    let best: EntryRecord | undefined
    for (const index of indexes) {
      const position = index.find(key)
      if (position === -1) continue
      const record = emptyRecord()
      index.read(position, record)
      if (best === undefined || compareEntries(record, best) > 0) best = record
    }
    return best === undefined || hiddenByWatermark(best, watermark) ? undefined : toIndexEntry(best)
  }
}

function rangeOf({ prefix }: IndexWalk): KeyRange {
  if (prefix === undefined) return {}
  const letter = prefix === '' ? 0 : prefix.charCodeAt(0)
  return { from: Uint8Array.of(letter), to: Uint8Array.of(letter + 1) }
}
