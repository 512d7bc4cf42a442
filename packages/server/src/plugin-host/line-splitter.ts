/** A line without its end. */
export interface SplitLine {
  text: string
  /** Only its beginning: it is longer than what is kept of one. */
  cut: boolean
}

const NEWLINE = 0x0a

/**
 * Cuts bytes into lines. Of a line longer than `most` bytes its beginning is told as soon as it is there and the rest is thrown away, so
 * that memory does not depend on what a program prints.
 */
export class LineSplitter {
  readonly #most: number
  readonly #onLine: (line: SplitLine) => void
  #parts: Buffer[] = []
  #length = 0
  /** Between the cut of a line and its end. */
  #skipping: boolean = false

  constructor(onLine: (line: SplitLine) => void, most = 64 << 10) {
    this.#onLine = onLine
    this.#most = most
  }

  push(bytes: Uint8Array): void {
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#add(rest.subarray(0, end))
      this.#finish()
      rest = rest.subarray(end + 1)
    }
    this.#add(rest)
  }

  /** What is left without a line end is a line too. */
  end(): void {
    if (this.#length > 0) this.#finish()
  }

  #add(part: Buffer): void {
    if (this.#skipping || part.length === 0) return
    const room = this.#most - this.#length
    // A copy, because the rest of what was read may be large and would be kept with it.
    this.#parts.push(Buffer.from(part.subarray(0, room)))
    this.#length += Math.min(part.length, room)
    if (part.length <= room) return
    this.#emit(true)
    this.#skipping = true
  }

  #finish(): void {
    if (!this.#skipping) this.#emit(false)
    this.#skipping = false
  }

  #emit(cut: boolean): void {
    const text = Buffer.concat(this.#parts).toString()
    this.#parts = []
    this.#length = 0
    this.#onLine({ text: text.endsWith('\r') ? text.slice(0, -1) : text, cut })
  }
}
