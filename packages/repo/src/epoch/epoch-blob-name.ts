/** What the name of an index blob says. `min` and `max` are epochs, or for a watermark Unix seconds. */
export interface EpochBlobName {
  kind: 'marker' | 'watermark' | 'uncompacted' | 'single' | 'range'
  min: number
  max: number
  /** Blobs with the same key belong to one set; a name without a set part is a set of its own. */
  setKey: string
  /** How many blobs the set has. */
  setSize: number
}

/** Prefix of every name of this file. */
export const epochBlobPrefix = 'x'
/** What the marker of an epoch holds. */
export const epochMarkerBody: Uint8Array = Buffer.from('epoch-marker')
/** What a watermark holds. */
export const watermarkBody: Uint8Array = Buffer.from('deletion-watermark')

// Up to 15 digits, so that every number is exact.
const pattern =
  /^x(?:(?<numbered>[ew])(?<number>\d{1,15})|(?<plain>[ns])(?<epoch>\d{1,15})_.*|r(?<min>\d{1,15})_(?<max>\d{1,15})_.*)$/
const kinds = { e: 'marker', w: 'watermark', n: 'uncompacted', s: 'single' } as const

/** Reads a blob name that starts with `x`; undefined for names of no known form. */
export function parseEpochBlobName(id: string): EpochBlobName | undefined {
  const groups = pattern.exec(id)?.groups
  if (groups === undefined) return undefined
  const letter = (groups.numbered ?? groups.plain) as keyof typeof kinds | undefined
  const min = Number(groups.number ?? groups.epoch ?? groups.min)
  const max = Number(groups.max ?? min)
  return max < min
    ? undefined
    : { kind: letter === undefined ? 'range' : kinds[letter], min, max, ...setOf(id) }
}

/** The name of the marker that begins an epoch. */
export function epochMarkerName(epoch: number): string {
  return `xe${epoch}`
}

/** The name of the marker that hides deletions up to `seconds` of Unix time. */
export function watermarkName(seconds: number): string {
  return `xw${seconds}`
}

/** Where the hash goes after, for an index written by a session. */
export function uncompactedPrefix(epoch: number): string {
  return `xn${epoch}_`
}

/** Where the hash goes after, for a compacted epoch. */
export function singlePrefix(epoch: number): string {
  return `xs${epoch}_`
}

/** Where the hash goes after, for a range checkpoint. */
export function rangePrefix({ first, last }: { first: number; last: number }): string {
  return `xr${first}_${last}_`
}

/** What follows the hash and a dash: the session or set id, then the number of blobs in the set. */
export function setSuffix(setId: string, count: number): string {
  return `${setId}-c${count}`
}

function setOf(id: string): { setKey: string; setSize: number } {
  const [, set, count] = id.split('-')
  const size = /^c([1-9]\d{0,8})$/.exec(count ?? '')?.[1]
  return set === undefined || !set.startsWith('s') || size === undefined
    ? { setKey: id, setSize: 1 }
    : { setKey: set, setSize: Number(size) }
}
