const newline = 0x0a

/** Splits a byte stream into its lines; a line that is not finished waits for the next chunk. */
export class LineSplitter {
  #rest: Buffer[] = []

  /** The lines that end within this chunk, without their newline; empty ones are left out. */
  push(chunk: Buffer): string[] {
    const lines: string[] = []
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const line = this.#finish(chunk.subarray(from, at))
      if (line !== '') lines.push(line)
      from = at + 1
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from))
    return lines
  }

  #finish(end: Buffer): string {
    if (this.#rest.length === 0) return end.toString()
    const line = Buffer.concat([...this.#rest, end]).toString()
    this.#rest = []
    return line
  }
}
