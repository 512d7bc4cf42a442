import { type ContentId, contentIdOf } from '../index-format/content-id.ts'
import type { SealedContent } from './pack-filler.ts'

/** Contents in the form that passes between threads: their hashes one after the other, and three numbers for each. */
export interface SealedTableParts {
  hashes: Uint8Array<ArrayBuffer>
  numbers: Uint32Array<ArrayBuffer>
}

const numbersEach = 3

/** A list of sealed contents that costs no object for each. */
export class SealedTable {
  readonly #hashLength: number
  #parts: SealedTableParts
  #count: number

  /** An empty table with room for some contents; it grows. */
  static withRoom(hashLength: number, room: number): SealedTable {
    const parts = { hashes: new Uint8Array(room * hashLength), numbers: new Uint32Array(room * numbersEach) }
    return new SealedTable(parts, hashLength, 0)
  }

  /** The table that `parts` came from. */
  static from(parts: SealedTableParts): SealedTable {
    const count = parts.numbers.length / numbersEach
    return new SealedTable(parts, count === 0 ? 0 : parts.hashes.length / count, count)
  }

  private constructor(parts: SealedTableParts, hashLength: number, count: number) {
    this.#parts = parts
    this.#hashLength = hashLength
    this.#count = count
  }

  get count(): number {
    return this.#count
  }

  add(hash: Uint8Array, { packedLength, originalLength, compressionId }: SealedContent): void {
    if ((this.#count + 1) * numbersEach > this.#parts.numbers.length) this.#grow()
    const { hashes, numbers } = this.#parts
    hashes.set(hash, this.#count * this.#hashLength)
    numbers[this.#count * numbersEach] = packedLength
    numbers[this.#count * numbersEach + 1] = originalLength
    numbers[this.#count * numbersEach + 2] = compressionId
    this.#count++
  }

  /** The id of a content of file data. */
  id(at: number): ContentId {
    const start = at * this.#hashLength
    return contentIdOf('', this.#parts.hashes.subarray(start, start + this.#hashLength))
  }

  packedLength(at: number): number {
    return this.#parts.numbers[at * numbersEach] ?? 0
  }

  originalLength(at: number): number {
    return this.#parts.numbers[at * numbersEach + 1] ?? 0
  }

  compressionId(at: number): number {
    return this.#parts.numbers[at * numbersEach + 2] ?? 0
  }

  /** A copy of what is in it, to be handed to another thread. */
  parts(): SealedTableParts {
    return {
      hashes: this.#parts.hashes.slice(0, this.#count * this.#hashLength),
      numbers: this.#parts.numbers.slice(0, this.#count * numbersEach),
    }
  }

  #grow(): void {
    const { hashes, numbers } = this.#parts
    const grown = SealedTable.withRoom(this.#hashLength, 2 * this.#count + 1).#parts
    grown.hashes.set(hashes)
    grown.numbers.set(numbers)
    this.#parts = grown
  }
}
