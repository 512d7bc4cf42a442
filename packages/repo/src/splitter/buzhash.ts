import { buzhashTable } from './buzhash-table.ts'
import type { RollingHash } from './dynamic-splitter.ts'

/** Kopia's 32-bit buzhash, with a cut where all bits of `average - 1` are zero. `average` is a power of two. */
export function createBuzhash(average: number): RollingHash {
  return new Buzhash(average - 1)
}

class Buzhash implements RollingHash {
  readonly #mask: number
  #sum = 0

  constructor(mask: number) {
    this.#mask = mask
  }

  reset(): void {
    this.#sum = 0
  }

  // The window starts as 64 zero bytes. What they contribute when they leave cancels out over 64 rotations of a 32-bit
  // word, so it is never added.
  prime(bytes: Uint8Array, from: number, to: number): void {
    let sum = this.#sum
    for (let i = from; i < to; i++) {
      sum = ((sum << 1) | (sum >>> 31)) ^ (buzhashTable[bytes[i] as number] as number)
    }
    this.#sum = sum
  }

  isCut(): boolean {
    return (this.#sum & this.#mask) === 0
  }

  // A leaving word has been rotated 64 times, which is not at all. Both words are joined first, so that the sum waits for one
  // exclusive-or less.
  roll(bytes: Uint8Array, from: number, to: number): number {
    const table = buzhashTable
    const mask = this.#mask
    let sum = this.#sum
    for (let i = from; i < to; i++) {
      const change = (table[bytes[i - 64] as number] as number) ^ (table[bytes[i] as number] as number)
      sum = ((sum << 1) | (sum >>> 31)) ^ change
      if ((sum & mask) === 0) {
        this.#sum = sum
        return i + 1
      }
    }
    this.#sum = sum
    return -1
  }
}
