import { badStream, tooLarge } from './inflate-with.ts'
import { compressLz4Block, decodeLz4Block } from './lz4-block.ts'
import { xxhash32 } from './xxhash32.ts'

const family = 'LZ4'
const magic = 0x184d2204
const skippableMagic = 0x184d2a50
const skippableMask = 0xfffffff0
const uncompressedBit = 0x80000000
const flags = {
  version: 0x40,
  independent: 0x20,
  blockChecksum: 0x10,
  contentSize: 8,
  contentChecksum: 4,
  dictionary: 1,
}
const versionMask = 0xc0
/** Block sizes by the code in the frame's header: 64 KiB, 256 KiB, 1 MiB, 4 MiB. */
const firstBlockCode = 4
const lastBlockCode = 7
const writtenBlockLength = 4 << 20

/** What a frame's header says about its blocks. */
interface FrameHeader {
  readonly flags: number
  readonly blockLength: number
  readonly end: number
}

/** An LZ4 frame of independent blocks with a checksum over its content. */
export function compressLz4(data: Uint8Array): Uint8Array {
  const header = Buffer.alloc(7)
  header.writeUInt32LE(magic, 0)
  header.writeUInt8(flags.version | flags.independent | flags.contentChecksum, 4)
  header.writeUInt8(lastBlockCode << 4, 5)
  header.writeUInt8(headerChecksum(header.subarray(4, 6)), 6)
  const parts: Uint8Array[] = [header]
  for (let from = 0; from < data.length; from += writtenBlockLength) {
    const raw = data.subarray(from, from + writtenBlockLength)
    const block = compressLz4Block(raw)
    const pays = block.length < raw.length
    parts.push(word(pays ? block.length : raw.length + uncompressedBit), pays ? block : raw)
  }
  parts.push(word(0), word(xxhash32(data)))
  return Buffer.concat(parts)
}

/** The content of all frames. Throws `CORRUPT` for a bad stream or more than `maxLength` bytes. */
export function decompressLz4(stream: Uint8Array, maxLength: number): Uint8Array {
  const reader = new FrameReader(stream, maxLength)
  while (reader.readFrame());
  return reader.content()
}

class FrameReader {
  readonly #bytes: Buffer
  readonly #maxLength: number
  #at = 0
  #out: Buffer = Buffer.allocUnsafeSlow(0)
  #length = 0

  constructor(stream: Uint8Array, maxLength: number) {
    this.#bytes = Buffer.from(stream.buffer, stream.byteOffset, stream.length)
    this.#maxLength = maxLength
  }

  content(): Uint8Array {
    return this.#out.subarray(0, this.#length)
  }

  /** Reads one frame; false at the end of the stream. */
  readFrame(): boolean {
    if (this.#at === this.#bytes.length) return false
    const start = this.#word()
    if ((start & skippableMask) >>> 0 === skippableMagic) {
      this.#take(this.#word())
      return true
    }
    if (start !== magic) throw badStream(family, 'no frame begins where one should')
    const header = this.#readHeader()
    const contentFrom = this.#length
    while (this.#readBlock(header, contentFrom));
    if (header.flags & flags.contentChecksum) {
      this.#check(this.#out.subarray(contentFrom, this.#length), 'its content')
    }
    return true
  }

  #readHeader(): FrameHeader {
    const from = this.#at
    const [frameFlags = 0, blockDescriptor = 0] = this.#take(2)
    if ((frameFlags & versionMask) !== flags.version)
      throw badStream(family, 'a frame has an unknown version')
    if (frameFlags & flags.dictionary) throw badStream(family, 'a frame needs a dictionary')
    if (frameFlags & flags.contentSize) this.#take(8)
    const expected = headerChecksum(this.#bytes.subarray(from, this.#at))
    if (this.#take(1)[0] !== expected) throw badStream(family, 'a frame header has another checksum')
    const code = (blockDescriptor >> 4) & 7
    if (code < firstBlockCode) throw badStream(family, 'a frame has an unknown block size')
    return { flags: frameFlags, blockLength: 1 << (2 * code + 8), end: this.#at }
  }

  /** Reads one block; false at the frame's end mark. */
  #readBlock(header: FrameHeader, contentFrom: number): boolean {
    const size = this.#word()
    if (size === 0) return false
    const block = this.#take(size % uncompressedBit)
    if (header.flags & flags.blockChecksum) this.#check(block, 'a block')
    const raw = size >= uncompressedBit
    this.#reserve(raw ? block.length : header.blockLength)
    const historyFrom = header.flags & flags.independent ? this.#length : contentFrom
    if (raw) this.#out.set(block, this.#length)
    this.#length = raw
      ? this.#length + block.length
      : decodeLz4Block(block, {
          out: this.#out,
          at: this.#length,
          historyFrom,
          blockLength: header.blockLength,
        })
    if (this.#length > this.#maxLength) throw tooLarge(family, this.#maxLength)
    return true
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#out.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(2 * this.#out.length, this.#maxLength)))
    larger.set(this.content())
    this.#out = larger
  }

  #check(bytes: Uint8Array, what: string): void {
    if (this.#word() !== xxhash32(bytes)) throw badStream(family, `${what} has another checksum`)
  }

  #word(): number {
    return this.#take(4).readUInt32LE(0)
  }

  #take(count: number): Buffer {
    const end = this.#at + count
    if (end > this.#bytes.length) throw badStream(family, 'it is cut short')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

function headerChecksum(header: Uint8Array): number {
  return (xxhash32(header) >>> 8) & 0xff
}

function word(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value, 0)
  return bytes
}
