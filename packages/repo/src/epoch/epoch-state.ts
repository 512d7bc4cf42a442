import type { BlobMetadata } from '../blob/storage.ts'
import { type EpochBlobName, parseEpochBlobName } from './epoch-blob-name.ts'

/** A complete range checkpoint: everything that epochs `min` to `max` say, in one set of blobs. */
export interface EpochRange {
  min: number
  max: number
  blobs: readonly BlobMetadata[]
}

/** What the names of a repository's index blobs say. */
export interface EpochState {
  /** The epoch that new indexes belong to. */
  writeEpoch: number
  /** Unix seconds; deletions up to it hide their contents. 0 means none. */
  deletionWatermark: number
  /** For each epoch, the first complete set that compacts it. */
  singles: ReadonlyMap<number, readonly BlobMetadata[]>
  /** Ranges that follow each other from epoch 0 on, reaching as far as possible with as few links as possible. */
  rangeChain: readonly EpochRange[]
  /** Index blobs as sessions wrote them, by epoch. */
  uncompacted: ReadonlyMap<number, readonly BlobMetadata[]>
  epochMarkers: readonly NumberedBlob[]
  watermarks: readonly NumberedBlob[]
}

/** A marker blob and the number in its name. */
export interface NumberedBlob {
  number: number
  blob: BlobMetadata
}

/** All blobs that a reader must load, and what they mean together. */
export interface CompleteIndexSet {
  blobs: readonly BlobMetadata[]
  /** Unix seconds; 0 means none. */
  deletionWatermark: number
}

/** Derives the state from a listing of the blobs `x*`; other and unknown names are ignored. */
export function epochStateOf(blobs: Iterable<BlobMetadata>): EpochState {
  const found = Map.groupBy(namedBlobs(blobs), ({ name }) => name.kind)
  const epochMarkers = numbered(found.get('marker'))
  const watermarks = numbered(found.get('watermark'))
  return {
    writeEpoch: greatest(epochMarkers),
    deletionWatermark: greatest(watermarks),
    singles: firstCompleteSets(found.get('single')),
    rangeChain: longestChain(completeSets(found.get('range'))),
    uncompacted: byEpoch(found.get('uncompacted')),
    epochMarkers,
    watermarks,
  }
}

/** True when no writer can add to the epoch any more. */
export function isSettled({ writeEpoch }: Pick<EpochState, 'writeEpoch'>, epoch: number): boolean {
  return epoch <= writeEpoch - 2
}

/** The first epoch that the range chain does not cover. */
export function firstEpochAfterRanges({ rangeChain }: Pick<EpochState, 'rangeChain'>): number {
  return (rangeChain.at(-1)?.max ?? -1) + 1
}

/** The blobs to load: the range chain, then for each later epoch its compaction when it may be used, else all it has. */
export function completeIndexSet(state: EpochState): CompleteIndexSet {
  const blobs = state.rangeChain.flatMap(range => range.blobs)
  const window = { first: firstEpochAfterRanges(state), last: state.writeEpoch + 1 }
  return { blobs: [...blobs, ...indexesOfEpochs(state, window)], deletionWatermark: state.deletionWatermark }
}

/** The blobs that hold everything of the epochs `first` to `last`, which lie after the range chain. */
export function indexesOfEpochs(state: EpochState, window: { first: number; last: number }): BlobMetadata[] {
  const epochs = new Set([...state.singles.keys(), ...state.uncompacted.keys()])
  return [...epochs]
    .filter(epoch => epoch >= window.first && epoch <= window.last)
    .sort((a, b) => a - b)
    .flatMap(epoch => {
      const single = isSettled(state, epoch) ? state.singles.get(epoch) : undefined
      return single ?? state.uncompacted.get(epoch) ?? []
    })
}

interface NamedBlob {
  name: EpochBlobName
  blob: BlobMetadata
}

function* namedBlobs(blobs: Iterable<BlobMetadata>): Iterable<NamedBlob> {
  for (const blob of blobs) {
    const name = parseEpochBlobName(blob.id)
    if (name !== undefined) yield { name, blob }
  }
}

function numbered(found: readonly NamedBlob[] = []): NumberedBlob[] {
  return found.map(({ name, blob }) => ({ number: name.min, blob }))
}

function greatest(markers: readonly NumberedBlob[]): number {
  return markers.reduce((most, { number }) => Math.max(most, number), 0)
}

function byEpoch(found: readonly NamedBlob[] = []): Map<number, BlobMetadata[]> {
  const epochs = new Map<number, BlobMetadata[]>()
  for (const { name, blob } of found) {
    const blobs = epochs.get(name.min)
    if (blobs === undefined) epochs.set(name.min, [blob])
    else blobs.push(blob)
  }
  return epochs
}

/** Sets of which every blob is there, in the order in which the listing completes them. */
function completeSets(found: readonly NamedBlob[] = []): EpochRange[] {
  const open = new Map<string, BlobMetadata[]>()
  const complete: EpochRange[] = []
  for (const { name, blob } of found) {
    const key = `${name.min} ${name.max} ${name.setKey}`
    const blobs = open.get(key) ?? []
    blobs.push(blob)
    open.set(key, blobs)
    if (blobs.length === name.setSize) complete.push({ min: name.min, max: name.max, blobs })
  }
  return complete
}

function firstCompleteSets(found: readonly NamedBlob[] = []): Map<number, readonly BlobMetadata[]> {
  const singles = new Map<number, readonly BlobMetadata[]>()
  for (const { min, blobs } of completeSets(found)) {
    if (!singles.has(min)) singles.set(min, blobs)
  }
  return singles
}

interface Chain {
  reach: number
  links: number
  range: EpochRange
  rest: Chain | undefined
}

function longestChain(ranges: readonly EpochRange[]): EpochRange[] {
  const startingAt = new Map<number, Chain>()
  for (const range of ranges.toSorted((a, b) => b.min - a.min)) {
    const rest = startingAt.get(range.max + 1)
    const chain = { range, rest, reach: rest?.reach ?? range.max, links: 1 + (rest?.links ?? 0) }
    const known = startingAt.get(range.min)
    if (known === undefined || isBetter(chain, known)) startingAt.set(range.min, chain)
  }
  const chain: EpochRange[] = []
  for (let link = startingAt.get(0); link !== undefined; link = link.rest) chain.push(link.range)
  // Kopia does not take a chain that ends at epoch 0 for one.
  return chain.at(-1)?.max === 0 ? [] : chain
}

function isBetter(a: Chain, b: Chain): boolean {
  return a.reach === b.reach ? a.links < b.links : a.reach > b.reach
}
