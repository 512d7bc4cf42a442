import type { Splitter } from './splitter.ts'

/** Bytes on which a cut depends. */
export const windowLength = 64

/** A hash over the last 64 bytes, with the mask that makes a position a cut. */
export interface RollingHash {
  /** Starts an empty window. */
  reset(): void
  /** Takes in `bytes[from..to)` with nothing leaving the window; 64 bytes in all are primed before the first roll. */
  prime(bytes: Uint8Array, from: number, to: number): void
  /** True when the current window is a cut. */
  isCut(): boolean
  /**
   * Moves the window over `bytes[from..to)` until it is a cut and returns the offset after it, or -1. The 64 bytes before
   * `from` are in `bytes` too and are those in the window.
   */
  roll(bytes: Uint8Array, from: number, to: number): number
}

/**
 * Cuts where the content says so: after a window whose hash fits, no earlier than half and no later than twice the
 * average. The decision depends on the last 64 bytes only, so what lies before them in a content is skipped unread.
 * `average` is at least 128.
 */
export function dynamicSplitter(average: number, hash: RollingHash): Splitter {
  return new DynamicSplitter(average, hash)
}

class DynamicSplitter implements Splitter {
  readonly maxSegment: number
  readonly #min: number
  readonly #hash: RollingHash
  /** Bytes of the current content consumed so far. */
  #consumed = 0
  /** First half: the last 64 bytes consumed before this slice. Second half: room to roll over the seam. */
  readonly #seam = new Uint8Array(2 * windowLength)

  constructor(average: number, hash: RollingHash) {
    this.maxSegment = average * 2
    this.#min = average / 2
    this.#hash = hash
  }

  reset(): void {
    this.#consumed = 0
    this.#hash.reset()
  }

  nextCut(bytes: Uint8Array): number {
    const cut = this.#find(bytes)
    if (cut !== -1) {
      this.reset()
      return cut
    }
    this.#consumed += bytes.length
    if (this.#consumed > this.#min - windowLength) this.#remember(bytes)
    return -1
  }

  #find(bytes: Uint8Array): number {
    const first = this.#min - this.#consumed
    if (first > 0) {
      this.#hash.prime(
        bytes,
        Math.min(Math.max(first - windowLength, 0), bytes.length),
        Math.min(first, bytes.length),
      )
      if (first > bytes.length) return -1
      if (this.#hash.isCut()) return first
    }
    const last = this.maxSegment - this.#consumed
    const cut = this.#roll(bytes, Math.max(first, 0), Math.min(last, bytes.length))
    if (cut !== -1) return cut
    return last <= bytes.length ? last : -1
  }

  #roll(bytes: Uint8Array, from: number, to: number): number {
    if (from >= windowLength) return this.#hash.roll(bytes, from, to)
    const seamEnd = Math.min(to, windowLength)
    this.#seam.set(bytes.subarray(0, seamEnd), windowLength)
    const cut = this.#hash.roll(this.#seam, windowLength + from, windowLength + seamEnd)
    if (cut !== -1) return cut - windowLength
    return this.#hash.roll(bytes, windowLength, to)
  }

  #remember(bytes: Uint8Array): void {
    if (bytes.length < windowLength) {
      this.#seam.copyWithin(0, bytes.length, windowLength)
      this.#seam.set(bytes, windowLength - bytes.length)
    } else {
      this.#seam.set(bytes.subarray(bytes.length - windowLength), 0)
    }
  }
}
