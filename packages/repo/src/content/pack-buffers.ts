import type { PackBytes } from '../pack/pack-builder.ts'

/** The buffers that packs are filled in, used again and again: fresh memory has to be cleared by the system first. */
export class PackBuffers {
  readonly #length: number
  readonly #free: PackBytes[] = []
  readonly #waiting: ((buffer: PackBytes) => void)[] = []
  #limit = 0
  #lent = 0

  /** Every buffer has this length. The system gives memory to the part that is used only. */
  constructor(length: number) {
    this.#length = length
  }

  /** How many buffers `lend` may have given out. */
  set limit(limit: number) {
    this.#limit = limit
  }

  /** A buffer with anything in it, as soon as there is one within the limit. */
  lend(): Promise<PackBytes> {
    if (this.#lent < this.#limit) return Promise.resolve(this.take())
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** A buffer with anything in it, whatever the limit. */
  take(): PackBytes {
    this.#lent++
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#length)
  }

  /** Counts a buffer as given out that was taken elsewhere. */
  adopt(): void {
    this.#lent++
  }

  /** Takes back a buffer that nobody uses any more, or is told that it has another owner now. */
  give(buffer?: PackBytes): void {
    this.#lent--
    if (buffer?.length === this.#length && this.#free.length === 0) this.#free.push(buffer)
    if (this.#waiting.length > 0 && this.#lent < this.#limit) this.#waiting.shift()?.(this.take())
  }
}
