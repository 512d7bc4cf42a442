const slabLength = 512 << 10
const copiedBelow = 32 << 10

/**
 * Keeps many short byte strings in few large buffers. A buffer of its own costs each of them some hundred bytes, and one
 * out of Node's pool keeps the neighbours' memory alive, which a pack of a hundred thousand tiny contents feels.
 */
export class Slab {
  #free: Buffer = Buffer.alloc(0)

  /** The same bytes, copied when they are short. */
  keep(bytes: Uint8Array): Uint8Array {
    if (bytes.length >= copiedBelow) return bytes
    if (bytes.length > this.#free.length) this.#free = Buffer.allocUnsafeSlow(slabLength)
    this.#free.set(bytes)
    const kept = this.#free.subarray(0, bytes.length)
    this.#free = this.#free.subarray(bytes.length)
    return kept
  }
}
