import type { Splitter } from './splitter.ts'

/** The offsets of all cuts in bytes that are in memory as a whole, from the splitter's current state on. */
export function cutOffsets(splitter: Splitter, bytes: Uint8Array): number[] {
  const offsets: number[] = []
  for (let from = 0; ; ) {
    const cut = splitter.nextCut(bytes.subarray(from))
    if (cut === -1) return offsets
    from += cut
    offsets.push(from)
  }
}
