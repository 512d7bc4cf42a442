import type { Splitter } from './splitter.ts'

/** Cuts after every `size` bytes. */
export function fixedSplitter(size: number): Splitter {
  let consumed = 0
  return {
    maxSegment: size,
    reset() {
      consumed = 0
    },
    nextCut(bytes) {
      const missing = size - consumed
      if (bytes.length < missing) {
        consumed += bytes.length
        return -1
      }
      consumed = 0
      return missing
    },
  }
}
