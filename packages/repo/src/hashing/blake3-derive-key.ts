const initial = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const
const permutation = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8] as const
/** The words each of the eight quarter rounds mixes: four columns, then four diagonals. */
const quarters = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const
const blockLength = 64
const rounds = 7
const wholeInput = 0b1011 // chunk start, chunk end, root
const contextFlag = 1 << 5
const materialFlag = 1 << 6

/**
 * BLAKE3's derive_key mode with 32 bytes of output, for a context and a material of at most 64 bytes each: one block is
 * all that a repository secret needs, and hash-wasm lacks the mode. Throws a `RangeError` for more.
 */
export function deriveBlake3Key(context: string, material: Uint8Array): Uint8Array {
  const contextKey = compressBlock(initial, new TextEncoder().encode(context), contextFlag)
  return bytesOf(compressBlock(contextKey, material, materialFlag))
}

function compressBlock(key: readonly number[], input: Uint8Array, flag: number): number[] {
  if (input.length > blockLength) throw new RangeError(`${input.length} bytes do not fit one BLAKE3 block`)
  let message = wordsOf(input)
  const state = [...key, ...initial.slice(0, 4), 0, 0, input.length, wholeInput | flag]
  for (let round = 0; round < rounds; round++) {
    for (const [index, quarter] of quarters.entries()) {
      mix(state, quarter, [message[2 * index] as number, message[2 * index + 1] as number])
    }
    message = permutation.map(from => message[from] as number)
  }
  return Array.from({ length: 8 }, (_, i) => (at(state, i) ^ at(state, i + 8)) >>> 0)
}

function mix(
  state: number[],
  [a, b, c, d]: (typeof quarters)[number],
  [first, second]: [number, number],
): void {
  state[a] = at(state, a) + at(state, b) + first
  state[d] = rotateRight(at(state, d) ^ at(state, a), 16)
  state[c] = at(state, c) + at(state, d)
  state[b] = rotateRight(at(state, b) ^ at(state, c), 12)
  state[a] = at(state, a) + at(state, b) + second
  state[d] = rotateRight(at(state, d) ^ at(state, a), 8)
  state[c] = at(state, c) + at(state, d)
  state[b] = rotateRight(at(state, b) ^ at(state, c), 7)
}

function at(state: readonly number[], index: number): number {
  return (state[index] as number) | 0
}

function rotateRight(word: number, count: number): number {
  return (word >>> count) | (word << (32 - count))
}

function wordsOf(input: Uint8Array): number[] {
  const block = Buffer.alloc(blockLength)
  block.set(input)
  return Array.from({ length: blockLength / 4 }, (_, i) => block.readUInt32LE(4 * i))
}

function bytesOf(words: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * words.length)
  for (const [i, word] of words.entries()) bytes.writeUInt32LE(word, 4 * i)
  return bytes
}
