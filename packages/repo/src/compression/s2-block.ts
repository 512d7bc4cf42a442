import { copyEarlier } from './copy-earlier.ts'
import { badStream } from './inflate-with.ts'
import { findMatches, type MatchSink } from './matches.ts'

const tags = { literal: 0, copy1: 1, copy2: 2, copy4: 3 } as const
/** Literal codes from here on say in how many bytes the length follows. */
const literalLengthFollows = 60
const longestCopy = 64
const longestCopy1 = 11
const copy1Reach = 2048
/** S2 allows 4 MiB, Snappy 64 KiB. */
const maxBlockLength = 4 << 20
const maxVarintLength = 5

/** The length that a block claims to decompress to. Throws `CORRUPT` when it is missing or more than a block may hold. */
export function s2BlockLength(block: Uint8Array): number {
  return readLength(block).length
}

/**
 * Decompresses a block into `out`, which has exactly the length that the block claims.
 * Throws `CORRUPT` when the block is damaged; `out` then holds anything.
 */
export function decodeS2Block(block: Uint8Array, out: Uint8Array): void {
  new BlockDecoder(block, out).run(readLength(block).end)
}

function readLength(block: Uint8Array): { length: number; end: number } {
  let length = 0
  for (let i = 0; i < Math.min(block.length, maxVarintLength); i++) {
    const byte = block[i] as number
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte >= 0x80) continue
    if (length > maxBlockLength) throw badStream('S2', `a block claims ${length} bytes`)
    return { length, end: i + 1 }
  }
  throw badStream('S2', 'a block has no length')
}

class BlockDecoder {
  readonly #block: Uint8Array
  readonly #out: Uint8Array
  #from = 0
  #to = 0
  #offset = 0

  constructor(block: Uint8Array, out: Uint8Array) {
    this.#block = block
    this.#out = out
  }

  run(from: number): void {
    this.#from = from
    while (this.#from < this.#block.length) {
      const tag = this.#number(1)
      if ((tag & 3) === tags.literal) this.#literal(tag >> 2)
      else this.#copy(this.#copyLength(tag))
    }
    if (this.#to !== this.#out.length) {
      throw badStream('S2', `a block of ${this.#out.length} bytes ends after ${this.#to}`)
    }
  }

  #literal(code: number): void {
    const length = code < literalLengthFollows ? code + 1 : this.#number(code - literalLengthFollows + 1) + 1
    const end = this.#from + length
    if (end > this.#block.length) throw badStream('S2', 'a block is cut short')
    this.#checkRoom(length)
    this.#out.set(this.#block.subarray(this.#from, end), this.#to)
    this.#from = end
    this.#to += length
  }

  #copy(length: number): void {
    if (this.#offset === 0 || this.#offset > this.#to) throw badStream('S2', 'a copy begins before its block')
    this.#checkRoom(length)
    copyEarlier(this.#out, this.#to, { offset: this.#offset, length })
    this.#to += length
  }

  /** Reads the rest of a copy tag: sets the offset, unless it repeats the last one, and returns the length. */
  #copyLength(tag: number): number {
    if ((tag & 3) !== tags.copy1) {
      this.#offset = this.#number((tag & 3) === tags.copy2 ? 2 : 4)
      return (tag >> 2) + 1
    }
    const code = (tag >> 2) & 7
    const offset = ((tag & 0xe0) << 3) | this.#number(1)
    if (offset === 0) return this.#repeatLength(code)
    this.#offset = offset
    return code + 4
  }

  /** The length of a copy that repeats the last offset, which S2 adds to Snappy. */
  #repeatLength(code: number): number {
    if (code === 5) return this.#number(1) + 8
    if (code === 6) return this.#number(2) + 260
    if (code === 7) return this.#number(3) + 65540
    return code + 4
  }

  /** The next `count` bytes as a little-endian number. */
  #number(count: number): number {
    if (this.#from + count > this.#block.length) throw badStream('S2', 'a block is cut short')
    let value = 0
    for (let i = 0; i < count; i++) value += (this.#block[this.#from++] as number) * 2 ** (8 * i)
    return value
  }

  #checkRoom(length: number): void {
    if (length > this.#out.length - this.#to) throw badStream('S2', 'a block holds more than it claims')
  }
}

/** Compresses a block of at most 1 MiB to what any Snappy reader knows. The result may be longer than `raw`. */
export function compressS2Block(raw: Uint8Array): Uint8Array {
  const writer = new BlockWriter(raw)
  findMatches(raw, { from: 0, to: raw.length }, writer)
  return writer.finished()
}

class BlockWriter implements MatchSink {
  readonly #raw: Uint8Array
  readonly #out: Uint8Array
  #at = 0

  constructor(raw: Uint8Array) {
    this.#raw = raw
    this.#out = new Uint8Array(32 + raw.length + Math.ceil(raw.length / 6))
    let rest = raw.length
    for (; rest >= 0x80; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80)
    this.#byte(rest)
  }

  literals(from: number, to: number): void {
    if (from === to) return
    const code = to - from - 1
    if (code < literalLengthFollows) {
      this.#byte((code << 2) | tags.literal)
    } else {
      const bytes = code < 0x100 ? 1 : code < 0x10000 ? 2 : 3
      this.#byte(((literalLengthFollows - 1 + bytes) << 2) | tags.literal)
      for (let i = 0; i < bytes; i++) this.#byte(code >>> (8 * i))
    }
    this.#out.set(this.#raw.subarray(from, to), this.#at)
    this.#at += to - from
  }

  // The last piece of a long copy keeps at least 4 bytes, the least that the shortest form can say.
  copy(offset: number, length: number): void {
    let rest = length
    for (; rest > longestCopy; ) {
      const piece = rest < longestCopy + 4 ? longestCopy - 4 : longestCopy
      this.#copy2(offset, piece)
      rest -= piece
    }
    if (rest <= longestCopy1 && offset < copy1Reach) {
      this.#byte(((offset >> 8) << 5) | ((rest - 4) << 2) | tags.copy1)
      this.#byte(offset)
    } else {
      this.#copy2(offset, rest)
    }
  }

  finished(): Uint8Array {
    return this.#out.subarray(0, this.#at)
  }

  #copy2(offset: number, length: number): void {
    this.#byte(((length - 1) << 2) | tags.copy2)
    this.#byte(offset)
    this.#byte(offset >> 8)
  }

  #byte(value: number): void {
    this.#out[this.#at++] = value
  }
}
