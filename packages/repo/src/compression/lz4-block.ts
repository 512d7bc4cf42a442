import { copyEarlier } from './copy-earlier.ts'
import { badStream } from './inflate-with.ts'
import { findMatches, type MatchSink } from './matches.ts'

const minMatch = 4
/** A length of 15 in a token says that bytes follow which are added to it, until one is below 255. */
const lengthFollows = 15

/** Where `decodeLz4Block` writes. */
export interface Lz4Target {
  /** Has room for `blockLength` bytes from `at`. */
  out: Uint8Array
  at: number
  /** No match refers to what stands before this. */
  historyFrom: number
  blockLength: number
}

/** Decompresses a block and returns the offset after what it wrote. Throws `CORRUPT` when the block is damaged. */
export function decodeLz4Block(block: Uint8Array, target: Lz4Target): number {
  return new BlockDecoder(block, target).run()
}

class BlockDecoder {
  readonly #block: Uint8Array
  readonly #out: Uint8Array
  readonly #historyFrom: number
  readonly #limit: number
  #from = 0
  #to: number

  constructor(block: Uint8Array, target: Lz4Target) {
    this.#block = block
    this.#out = target.out
    this.#historyFrom = target.historyFrom
    this.#limit = target.at + target.blockLength
    this.#to = target.at
  }

  run(): number {
    for (;;) {
      const token = this.#byte()
      this.#literals(this.#length(token >> 4))
      if (this.#from === this.#block.length) return this.#to
      const offset = this.#byte() | (this.#byte() << 8)
      this.#match(offset, this.#length(token & lengthFollows) + minMatch)
    }
  }

  #literals(length: number): void {
    const end = this.#from + length
    if (end > this.#block.length) throw badStream('LZ4', 'a block is cut short')
    this.#checkRoom(length)
    this.#out.set(this.#block.subarray(this.#from, end), this.#to)
    this.#from = end
    this.#to += length
  }

  #match(offset: number, length: number): void {
    if (offset === 0 || offset > this.#to - this.#historyFrom) {
      throw badStream('LZ4', 'a match begins before its block')
    }
    this.#checkRoom(length)
    copyEarlier(this.#out, this.#to, { offset, length })
    this.#to += length
  }

  #length(short: number): number {
    if (short < lengthFollows) return short
    let length = short
    let byte = this.#byte()
    for (; byte === 255; byte = this.#byte()) length += 255
    return length + byte
  }

  #byte(): number {
    const byte = this.#block[this.#from++]
    if (byte === undefined) throw badStream('LZ4', 'a block is cut short')
    return byte
  }

  #checkRoom(length: number): void {
    if (this.#to + length > this.#limit) throw badStream('LZ4', 'a block holds more than its frame allows')
  }
}

/** Compresses a block. The result may be longer than `raw`. */
export function compressLz4Block(raw: Uint8Array): Uint8Array {
  const writer = new BlockWriter(raw)
  findMatches(raw, { from: 0, to: raw.length }, writer)
  return writer.finished()
}

class BlockWriter implements MatchSink {
  readonly #raw: Uint8Array
  readonly #out: Uint8Array
  #at = 0
  #literalsFrom = 0
  #literalsTo = 0

  constructor(raw: Uint8Array) {
    this.#raw = raw
    this.#out = new Uint8Array(16 + raw.length + Math.ceil(raw.length / 255))
  }

  literals(from: number, to: number): void {
    this.#literalsFrom = from
    this.#literalsTo = to
  }

  copy(offset: number, length: number): void {
    this.#sequence(length - minMatch)
    this.#out[this.#at++] = offset
    this.#out[this.#at++] = offset >> 8
    this.#longLength(length - minMatch)
  }

  finished(): Uint8Array {
    this.#sequence(0)
    return this.#out.subarray(0, this.#at)
  }

  #sequence(matchLength: number): void {
    const literals = this.#literalsTo - this.#literalsFrom
    this.#out[this.#at++] = (Math.min(literals, lengthFollows) << 4) | Math.min(matchLength, lengthFollows)
    this.#longLength(literals)
    this.#out.set(this.#raw.subarray(this.#literalsFrom, this.#literalsTo), this.#at)
    this.#at += literals
  }

  #longLength(length: number): void {
    if (length < lengthFollows) return
    let rest = length - lengthFollows
    for (; rest >= 255; rest -= 255) this.#out[this.#at++] = 255
    this.#out[this.#at++] = rest
  }
}
