import { compressorByName } from '../compression/compressor.ts'
import type { ContentEncryption } from '../encryption/content-encryption.ts'
import type { ContentHash } from '../hashing/content-hash.ts'
import { allZeros } from './all-zeros.ts'
import type { SealedTable } from './sealed-table.ts'

/** How contents are named and sealed, and where in a pack they begin. */
export interface FillerOptions {
  hash: ContentHash
  encryption: ContentEncryption
  /** Bytes of a pack before its first content. */
  start: number
}

/** What a pack begins with. */
export interface BegunPack {
  length?: number
  kept?: Uint8Array | undefined
}

const ivLength = 16

const mostZeroNames = 64

/**
 * Fills one pack after the other with contents, in place: a file is read to where its sealed bytes will lie. From the start on
 * the buffer holds contents that were admitted, then sealed ones whose admission is being decided, then plaintext that was
 * read and not cut yet. Contents that are not admitted are closed up. Synchronous.
 */
export class PackFiller {
  readonly #options: FillerOptions
  #buffer: Uint8Array<ArrayBuffer> | undefined
  #admitted: number
  #undecided: SealedTable[] = []
  /** Where the next sealed content begins. */
  #end: number
  #held = 0
  /** Names of contents that are nothing but zeros, by length: of such is a file with holes. */
  readonly #zeroNames = new Map<number, Uint8Array>()

  constructor(options: FillerOptions) {
    this.#options = options
    this.#admitted = options.start
    this.#end = options.start
  }

  get hasPack(): boolean {
    return this.#buffer !== undefined
  }

  /** Bytes of admitted contents, with what comes before the first. */
  get admittedLength(): number {
    return this.#admitted
  }

  /** Bytes of all sealed contents, with what comes before the first. */
  get length(): number {
    return this.#end
  }

  /** Tables handed to `propose` and not decided yet. */
  get undecided(): number {
    return this.#undecided.length
  }

  /** Plaintext bytes that were read and neither sealed nor dropped. */
  get held(): number {
    return this.#held
  }

  /** Bytes that can still be read into the pack. */
  get free(): number {
    return this.#bytes.length - this.#plaintext - this.#held - this.#options.encryption.overhead
  }

  /** Takes a buffer for the next pack, filled up to `length`; what `release` kept back comes behind that. */
  begin(buffer: Uint8Array<ArrayBuffer>, { length = this.#options.start, kept }: BegunPack = {}): void {
    if (kept !== undefined) buffer.set(kept, length)
    this.#end += length - this.#admitted
    this.#admitted = length
    this.#buffer = buffer
  }

  /** Where the next bytes of plaintext go. */
  room(length: number): Uint8Array {
    const at = this.#plaintext + this.#held
    return this.#bytes.subarray(at, at + length)
  }

  /** Counts bytes that were read into `room`. */
  hold(length: number): void {
    this.#held += length
  }

  /** The plaintext that is held, or the part of it that starts at an offset. */
  plaintext(from = 0): Uint8Array {
    return this.#bytes.subarray(this.#plaintext + from, this.#plaintext + this.#held)
  }

  /** The name of the first `length` bytes of plaintext. */
  name(length: number): Uint8Array {
    return this.#options.hash.hash(this.#bytes.subarray(this.#plaintext, this.#plaintext + length))
  }

  /** The same where these bytes are all zeros and others like them were named here before; undefined otherwise, and the first time. */
  nameOfZeros(length: number): Uint8Array | undefined {
    if (!allZeros(this.#bytes.subarray(this.#plaintext, this.#plaintext + length))) return undefined
    const known = this.#zeroNames.get(length)
    if (known === undefined && this.#zeroNames.size < mostZeroNames) {
      this.#zeroNames.set(length, this.name(length))
    }
    return known
  }

  /** Makes the first `length` bytes of plaintext the next content. */
  seal(length: number, named: { hash: Uint8Array; compressor: string | undefined }): SealedContent {
    const { encryption } = this.#options
    const [from, to] = [this.#plaintext, this.#plaintext + length]
    const { bytes, compressionId } = shortest(this.#bytes.subarray(from, to), named.compressor)
    const after = this.#held === length ? undefined : this.#bytes.slice(to, from + this.#held)
    const target = this.#bytes.subarray(this.#end)
    const packedLength = encryption.encryptInto(target, bytes, named.hash.subarray(-ivLength))
    this.#end += packedLength
    this.#held -= length
    if (after !== undefined) this.#bytes.set(after, this.#plaintext)
    return { packedLength, originalLength: length, compressionId }
  }

  /** Forgets the first `length` bytes of plaintext, or all of it. */
  drop(length: number = this.#held): void {
    if (length === 0) return
    const from = this.#plaintext
    this.#bytes.copyWithin(from, from + length, from + this.#held)
    this.#held -= length
  }

  /** Says that the contents sealed since the last call are being decided on. */
  propose(table: SealedTable): void {
    this.#undecided.push(table)
  }

  /** Ends the wait of the oldest table: what is not admitted is closed up. */
  decide(admitted: Uint8Array): void {
    const table = this.#undecided.shift()
    if (table === undefined) return
    let from = this.#admitted
    for (let at = 0; at < table.count; at++) {
      const length = table.packedLength(at)
      if (admitted[at] === 1) {
        if (from !== this.#admitted) this.#bytes.copyWithin(this.#admitted, from, from + length)
        this.#admitted += length
      }
      from += length
    }
    this.#closeUp(this.#admitted, from)
  }

  /** Gives the buffer away with all that was admitted, and a copy of the rest for the next one. */
  release(): { buffer: Uint8Array<ArrayBuffer>; kept: Uint8Array } {
    const buffer = this.#bytes
    const { start } = this.#options
    const kept = buffer.slice(this.#admitted, this.#plaintext + this.#held)
    this.#end -= this.#admitted - start
    this.#admitted = start
    this.#buffer = undefined
    return { buffer, kept }
  }

  #closeUp(to: number, from: number): void {
    if (to === from) return
    this.#bytes.copyWithin(to, from, this.#plaintext + this.#held)
    this.#end -= from - to
  }

  get #plaintext(): number {
    return this.#end + this.#options.encryption.lead
  }

  get #bytes(): Uint8Array<ArrayBuffer> {
    if (this.#buffer === undefined) throw new Error('There is no pack to fill')
    return this.#buffer
  }
}

/** What the index will say of a content. */
export interface SealedContent {
  packedLength: number
  originalLength: number
  compressionId: number
}

function shortest(data: Uint8Array, compressor: string | undefined) {
  if (compressor !== undefined && compressor !== 'none') {
    const { id, compress } = compressorByName(compressor)
    const bytes = compress(data)
    if (bytes.length < data.length) return { bytes, compressionId: id }
  }
  return { bytes: data, compressionId: 0 }
}
