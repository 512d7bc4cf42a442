import type { RollingHash } from './dynamic-splitter.ts'

const polynomial = 0x2e3e3e4a305605n
const degree = 53n
const bytesBehindTheFirst = 63n

/** A 64-bit word per byte value, as two halves. */
interface WordTable {
  readonly high: Int32Array
  readonly low: Int32Array
}

let tables: { readonly leaving: WordTable; readonly reduction: WordTable } | undefined

/** Kopia's Rabin-Karp hash over GF(2), with a cut where all bits of `average - 1` are zero. `average` is a power of two. */
export function createRabinKarp(average: number): RollingHash {
  tables ??= {
    leaving: wordTable(byte => remainder(byte << (8n * bytesBehindTheFirst))),
    reduction: wordTable(byte => remainder(byte << degree) | (byte << degree)),
  }
  return new RabinKarp(average - 1, tables.leaving, tables.reduction)
}

class RabinKarp implements RollingHash {
  readonly #mask: number
  readonly #leaving: WordTable
  readonly #reduction: WordTable
  #high = 0
  #low = 0

  constructor(mask: number, leaving: WordTable, reduction: WordTable) {
    this.#mask = mask
    this.#leaving = leaving
    this.#reduction = reduction
  }

  reset(): void {
    this.#high = 0
    this.#low = 0
  }

  // The window starts as 64 zero bytes, which are the polynomial 0 and change nothing when they leave.
  prime(bytes: Uint8Array, from: number, to: number): void {
    const { high: reductionHigh, low: reductionLow } = this.#reduction
    let high = this.#high
    let low = this.#low
    for (let i = from; i < to; i++) {
      const overflow = (high >>> 13) & 0xff
      high = ((high << 8) | (low >>> 24)) ^ (reductionHigh[overflow] as number)
      low = ((low << 8) | (bytes[i] as number)) ^ (reductionLow[overflow] as number)
    }
    this.#high = high
    this.#low = low
  }

  isCut(): boolean {
    return (this.#low & this.#mask) === 0
  }

  roll(bytes: Uint8Array, from: number, to: number): number {
    const { high: leavingHigh, low: leavingLow } = this.#leaving
    const { high: reductionHigh, low: reductionLow } = this.#reduction
    const mask = this.#mask
    let high = this.#high
    let low = this.#low
    let cut = -1
    for (let i = from; i < to; i++) {
      const leaving = bytes[i - 64] as number
      high ^= leavingHigh[leaving] as number
      low ^= leavingLow[leaving] as number
      const overflow = (high >>> 13) & 0xff
      high = ((high << 8) | (low >>> 24)) ^ (reductionHigh[overflow] as number)
      low = ((low << 8) | (bytes[i] as number)) ^ (reductionLow[overflow] as number)
      if ((low & mask) === 0) {
        cut = i + 1
        break
      }
    }
    this.#high = high
    this.#low = low
    return cut
  }
}

function wordTable(word: (byte: bigint) => bigint): WordTable {
  const words = Array.from({ length: 256 }, (_, byte) => word(BigInt(byte)))
  return {
    high: Int32Array.from(words, value => Number(BigInt.asIntN(32, value >> 32n))),
    low: Int32Array.from(words, value => Number(BigInt.asIntN(32, value))),
  }
}

/** The polynomial `value` modulo the one of the splitter, over GF(2): the hash of a window is that of its bytes. */
export function remainder(value: bigint): bigint {
  let rest = value
  for (
    let excess = bitLength(rest) - 1 - Number(degree);
    excess >= 0;
    excess = bitLength(rest) - 1 - Number(degree)
  ) {
    rest ^= polynomial << BigInt(excess)
  }
  return rest
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}
