import type { Spool } from './spool.ts'

/** Where something lies in one of several files. */
export interface SpoolPlace {
  readonly file: number
  readonly offset: number
  readonly length: number
}

interface Window {
  file: number
  from: number
  to: number
  bytes: Promise<Buffer>
}

const windowBytes = { sequential: 256 * 1024, random: 32 * 1024 }
const maxWindows = 8

/**
 * Reads from several files by windows that hold more than was asked for, because what is asked for next mostly lies just
 * behind. A handful of windows is kept.
 */
export class SpoolReader {
  readonly #spools: readonly Spool[]
  /** The one used last comes last. */
  readonly #windows: Window[] = []

  constructor(spools: readonly Spool[]) {
    this.#spools = spools
  }

  /** The bytes at a place, as part of a larger block. Throws ScratchError. */
  async read(place: SpoolPlace): Promise<Uint8Array> {
    const window = this.#find(place) ?? this.#open(place)
    const from = place.offset - window.from
    return (await window.bytes).subarray(from, from + place.length)
  }

  #find({ file, offset, length }: SpoolPlace): Window | undefined {
    const at = this.#windows.findLastIndex(
      window => window.file === file && window.from <= offset && offset + length <= window.to,
    )
    const found = this.#windows[at]
    if (found === undefined) return undefined
    this.#windows.splice(at, 1)
    this.#windows.push(found)
    return found
  }

  #open({ file, offset, length }: SpoolPlace): Window {
    const spool = this.#spools[file]
    if (spool === undefined) throw new RangeError(`there is no file ${file}`)
    const sequential = this.#windows.some(
      window => window.file === file && window.from <= offset && offset <= window.to + windowBytes.random,
    )
    const wanted = Math.max(length, sequential ? windowBytes.sequential : windowBytes.random)
    const size = Math.max(length, Math.min(wanted, spool.length - offset))
    const window = { file, from: offset, to: offset + size, bytes: spool.read(offset, size) }
    this.#windows.push(window)
    if (this.#windows.length > maxWindows) this.#windows.shift()
    // A window that could not be read must not be found again.
    window.bytes.catch(() => this.#windows.splice(this.#windows.indexOf(window) >>> 0, 1))
    return window
  }
}
