const poolLength = 8 << 10
const pooledBelow = 64

/**
 * Random bytes from a source that is asked for many at once: every content needs a nonce of its own, and asking the
 * system for 12 bytes costs more than encrypting a small file. No byte is given out twice.
 */
export function pooledRandom(source: (length: number) => Uint8Array): (length: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0)
  return length => {
    if (length > pooledBelow) return source(length)
    if (pool.length < length) pool = source(poolLength)
    const taken = pool.slice(0, length)
    pool = pool.subarray(length)
    return taken
  }
}
