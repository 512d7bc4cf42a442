/** Takes the parts that a block is made of, in order. */
export interface MatchSink {
  /** The bytes `from..to` as they are; `to` may equal `from`. A copy or the end of the block follows. */
  literals(from: number, to: number): void
  /** `length` bytes (at least 4) that stand `offset` bytes (at most 65535) before. */
  copy(offset: number, length: number): void
}

const tableBits = 14
const minMatch = 4
const maxOffset = 65535
/** LZ4 demands that the last match begins this far before the end, */
const lastMatchDistance = 12
/** and that it ends so far before it. */
const lastLiterals = 5
/** After so many positions without a match the search takes larger steps. */
const patienceBits = 5

/**
 * Finds repetitions in `data[from..to)`, greedily and with one candidate per position: fast, and good enough for
 * compressors that are asked for by name only. Nothing outside the range is referred to.
 */
export function findMatches(
  data: Uint8Array,
  { from, to }: { from: number; to: number },
  sink: MatchSink,
): void {
  const candidates = new Int32Array(1 << tableBits).fill(-1)
  const lastStart = to - lastMatchDistance
  const matchEnd = to - lastLiterals
  let literals = from
  let misses = 0
  let at = from
  while (at <= lastStart) {
    const word = wordAt(data, at)
    const slot = Math.imul(word, 0x9e3779b1) >>> (32 - tableBits)
    const candidate = candidates[slot] as number
    candidates[slot] = at
    if (candidate < 0 || at - candidate > maxOffset || wordAt(data, candidate) !== word) {
      at += 1 + (misses++ >> patienceBits)
      continue
    }
    let end = at + minMatch
    for (let earlier = candidate + minMatch; end < matchEnd && data[end] === data[earlier]; earlier++) end++
    sink.literals(literals, at)
    sink.copy(at - candidate, end - at)
    at = end
    literals = end
    misses = 0
  }
  sink.literals(literals, to)
}

function wordAt(data: Uint8Array, at: number): number {
  return (
    (data[at] as number) |
    ((data[at + 1] as number) << 8) |
    ((data[at + 2] as number) << 16) |
    ((data[at + 3] as number) << 24)
  )
}
