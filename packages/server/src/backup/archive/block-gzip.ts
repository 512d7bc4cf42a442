import { promisify } from 'node:util'
import { constants, crc32, deflateRaw } from 'node:zlib'

const deflate = promisify(deflateRaw)

/** Input is compressed in pieces of this length, several at once. */
const blockBytes = 256 * 1024
/** How far back deflate can refer. */
const windowBytes = 32 * 1024
/** Blocks being compressed or waiting to be handed on. libuv has four threads, and files need some of them. */
const maxBlocks = 3

// RFC 1952: deflate, no flags, no time, made on an unknown system.
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** A last block without content (RFC 1951). */
const lastBlock = Buffer.from([0x03, 0x00])

/** Takes compressed bytes, one call at a time. */
export type GzipSink = (bytes: Uint8Array) => Promise<void>

/**
 * Compresses in threads what is written to it, into one gzip member. Each block is deflated with the end of the one before as
 * dictionary and ends at a byte, so that the blocks joined are one stream (the method of pigz). The same input gives
 * the same output, whatever pieces it came in.
 */
export class BlockGzip {
  readonly #sink: GzipSink
  #block = Buffer.allocUnsafeSlow(blockBytes)
  #used = 0
  #dictionary: Buffer | undefined
  #crc = 0
  #length = 0
  #running = 0
  #writing: Promise<void>
  #failure: { error: unknown } | undefined
  readonly #spare: Buffer<ArrayBuffer>[] = []

  constructor(sink: GzipSink) {
    this.#sink = sink
    this.#writing = this.#handOn(Promise.resolve(header))
  }

  /** Takes bytes; they may change afterwards. Does not wait: `ready` says when more may come. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + blockBytes - this.#used)
      this.#block.set(part, this.#used)
      this.#used += part.length
      at += part.length
      if (this.#used === blockBytes) this.#compressBlock()
    }
  }

  /** Undefined if more may be written at once, else what to wait for. Throws and rejects with what the sink threw. */
  ready(): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error
    return this.#running < maxBlocks ? undefined : this.#settled()
  }

  /** Hands on the rest and the end. Throws what the sink threw. */
  async end(): Promise<void> {
    this.#compressBlock()
    const trailer = Buffer.alloc(8)
    trailer.writeUInt32LE(this.#crc, 0)
    trailer.writeUInt32LE(this.#length % 2 ** 32, 4)
    this.#writing = this.#handOn(Promise.resolve(Buffer.concat([lastBlock, trailer])))
    await this.#settled()
  }

  /** Waits until nothing runs any more, whether or not it failed. */
  async idle(): Promise<void> {
    await this.#writing
  }

  async #settled(): Promise<void> {
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #compressBlock(): void {
    if (this.#used === 0) return
    const block = this.#block
    const content = block.subarray(0, this.#used)
    this.#crc = crc32(content, this.#crc)
    this.#length += content.length
    const compressed = deflate(content, {
      chunkSize: blockBytes,
      finishFlush: constants.Z_SYNC_FLUSH,
      ...(this.#dictionary !== undefined && { dictionary: this.#dictionary }),
    })
    this.#dictionary = Buffer.from(content.subarray(-windowBytes))
    const free = () => this.#spare.push(block)
    compressed.then(free, free)
    this.#writing = this.#handOn(compressed)
    this.#block = this.#spare.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
    this.#used = 0
  }

  /** Gives compressed bytes to the sink after those before. Never rejects. */
  async #handOn(compressed: Promise<Uint8Array>): Promise<void> {
    const before = this.#writing
    this.#running++
    try {
      const bytes = await compressed
      await before
      if (this.#failure === undefined) await this.#sink(bytes)
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#running--
    }
  }
}
