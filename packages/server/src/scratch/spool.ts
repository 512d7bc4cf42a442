import { type FileHandle, open, rm } from 'node:fs/promises'
import { scratchError } from './scratch-error.ts'

const bufferBytes = 256 * 1024
/** Buffers on their way to the disk before the writer is asked to wait. */
const maxWaiting = 2

/** A scratch file that is appended to through a buffer and read at any place once it is flushed. */
export class Spool implements AsyncDisposable {
  readonly #path: string
  readonly #file: FileHandle
  #buffer = Buffer.allocUnsafeSlow(bufferBytes)
  #used = 0
  /** Where in the file the buffer begins. */
  #start = 0
  #writing: Promise<void> = Promise.resolve()
  #waiting = 0
  #failure: Error | undefined
  readonly #spare: Buffer<ArrayBuffer>[] = []

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** Begins a file, replacing what was there. Throws ScratchError. */
  static async create(path: string): Promise<Spool> {
    try {
      return new Spool(path, await open(path, 'w+', 0o600))
    } catch (error) {
      throw scratchError(error, path)
    }
  }

  /**
   * Appends bytes and returns where they begin. Does not wait: whoever appends more than a little awaits `ready` in
   * between. The bytes must not change afterwards.
   */
  append(bytes: Uint8Array): number {
    if (bytes.length > bufferBytes - this.#used) this.#flushBuffer()
    const offset = this.#start + this.#used
    if (bytes.length > bufferBytes) {
      this.#start += bytes.length
      this.#write(bytes, offset)
      return offset
    }
    this.#buffer.set(bytes, this.#used)
    this.#used += bytes.length
    return offset
  }

  /** Undefined if more may be appended at once, else what to wait for. Throws and rejects with ScratchError. */
  ready(): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure
    return this.#waiting > maxWaiting ? this.flush() : undefined
  }

  /** Waits until everything appended can be read. Throws ScratchError. */
  async flush(): Promise<void> {
    this.#flushBuffer()
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Exactly these bytes. Throws ScratchError. */
  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(length)
    let filled = 0
    try {
      while (filled < length) {
        const { bytesRead } = await this.#file.read(bytes, filled, length - filled, offset + filled)
        if (bytesRead === 0) throw new Error(`it ends at ${offset + filled}, before ${offset + length}`)
        filled += bytesRead
      }
    } catch (error) {
      throw scratchError(error, this.#path)
    }
    return bytes
  }

  /** Bytes appended so far. */
  get length(): number {
    return this.#start + this.#used
  }

  /** Closes and removes the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  #flushBuffer(): void {
    if (this.#used === 0) return
    const full = this.#buffer
    const used = this.#used
    this.#write(full.subarray(0, used), this.#start, () => this.#spare.push(full))
    this.#start += used
    this.#used = 0
    this.#buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(bufferBytes)
  }

  #write(bytes: Uint8Array, offset: number, release?: () => void): void {
    this.#waiting++
    this.#writing = this.#writing.then(async () => {
      try {
        if (this.#failure === undefined) await this.#writeAll(bytes, offset)
      } catch (error) {
        this.#failure = scratchError(error, this.#path)
      }
      this.#waiting--
      release?.()
    })
  }

  async #writeAll(bytes: Uint8Array, offset: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, offset + at)
      at += bytesWritten
    }
  }
}
