import { crc32 } from 'node:zlib'
import { corrupt, RepoError } from '../errors/repo-error.ts'
import { createReedSolomon, type ReedSolomon } from './reed-solomon.ts'

/** Adds redundancy to stored bytes and repairs them with it. */
export interface ErrorCorrection {
  /** The bytes with their redundancy, in a fresh array. */
  protect(bytes: Uint8Array): Uint8Array
  /** The bytes that were protected, repaired where needed. Throws `CORRUPT` when too much of a block is damaged. */
  recover(stored: Uint8Array): Uint8Array
}

/** The one error correction that Kopia 0.22 knows. */
export const errorCorrectionName = 'REED-SOLOMON-CRC32'

const lengthLength = 4
const crcLength = 4
const smallDataShards = 6
const smallParityShards = 2

/**
 * How bytes of one length are stored: first the parity shards of all blocks, then the data shards of all blocks, each
 * shard after its CRC. The data begins with its length and ends with zeros up to a whole block.
 */
interface Layout {
  readonly code: ReedSolomon
  readonly blocks: number
  readonly shardLength: number
  /** Whether the zeros at the end are stored. */
  readonly storesPadding: boolean
}

/**
 * Kopia's Reed-Solomon code with CRCs that tell which shards are damaged. `overheadPercent` is what it may cost.
 * Throws `UNSUPPORTED_FORMAT` for another name, or an overhead outside 1 to 100.
 */
export function createErrorCorrection(name: string, overheadPercent: number): ErrorCorrection {
  if (name !== errorCorrectionName || !(overheadPercent >= 1 && overheadPercent <= 100)) {
    throw new RepoError('UNSUPPORTED_FORMAT', {
      message: `The error correction "${name}" with ${overheadPercent} percent is unknown`,
      hint: `known is ${errorCorrectionName} with 1 to 100 percent`,
    })
  }
  const maxShard = maxShardLength(overheadPercent)
  const small = createReedSolomon(smallDataShards, smallParityShards)
  const { data, parity } = shardCounts(overheadPercent, maxShard)
  const layouts = new Layouts(small, createReedSolomon(data, parity), maxShard)
  return {
    protect: bytes => protect(bytes, layouts.forPlain(lengthLength + bytes.length)),
    recover: stored => recover(stored, layouts.forStored(stored.length)),
  }
}

function maxShardLength(overheadPercent: number): number {
  if (overheadPercent === 1) return 1024
  if (overheadPercent === 2) return 512
  if (overheadPercent === 3) return 256
  return overheadPercent <= 6 ? 128 : 64
}

/** The shards of a large block. Kopia computes with 32-bit floats, and rounding decides about a shard more or less. */
function shardCounts(overheadPercent: number, maxShard: number): { data: number; parity: number } {
  const afterCrc = Math.fround(overheadPercent - Math.fround((100 * crcLength) / maxShard))
  const free = Math.max(afterCrc, Math.fround(0.01))
  const parity = clamp(Math.floor(128 * Math.fround(free / 100)), 1, 128)
  if (parity > 1) return { data: 128, parity }
  return { data: clamp(Math.floor(2 * Math.fround(100 / free)), 128, 254), parity: 2 }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}

/** Chooses the layout by length: few small shards, one block of shards as small as possible, or full blocks. */
class Layouts {
  readonly #small: ReedSolomon
  readonly #large: ReedSolomon
  readonly #maxShard: number

  constructor(small: ReedSolomon, large: ReedSolomon, maxShard: number) {
    this.#small = small
    this.#large = large
    this.#maxShard = maxShard
  }

  forPlain(length: number): Layout {
    const { dataShards } = this.#large
    if (length <= this.#smallLimit()) return oneBlock(this.#small, Math.ceil(length / smallDataShards))
    if (length <= dataShards * this.#maxShard) return oneBlock(this.#large, Math.ceil(length / dataShards))
    return this.#fullBlocks(Math.ceil(length / (dataShards * this.#maxShard)))
  }

  forStored(length: number): Layout {
    const smallest = Math.ceil(this.#smallLimit() / smallDataShards)
    const fullBlock = this.#largeShards() * (crcLength + this.#maxShard)
    if (length <= (smallDataShards + smallParityShards) * (crcLength + smallest)) {
      return oneBlock(this.#small, storedShardLength(length, smallDataShards + smallParityShards))
    }
    if (length <= fullBlock) return oneBlock(this.#large, storedShardLength(length, this.#largeShards()))
    return this.#fullBlocks(Math.ceil(length / fullBlock))
  }

  #largeShards(): number {
    return this.#large.dataShards + this.#large.parityShards
  }

  #smallLimit(): number {
    return 2 * crcLength * this.#largeShards()
  }

  #fullBlocks(blocks: number): Layout {
    return { code: this.#large, blocks, shardLength: this.#maxShard, storesPadding: false }
  }
}

function oneBlock(code: ReedSolomon, shardLength: number): Layout {
  return { code, blocks: 1, shardLength, storesPadding: true }
}

function storedShardLength(length: number, shards: number): number {
  return Math.max(Math.ceil(length / shards) - crcLength, 1)
}

function protect(bytes: Uint8Array, { code, blocks, shardLength, storesPadding }: Layout): Uint8Array {
  const data = Buffer.alloc(blocks * code.dataShards * shardLength)
  data.writeUInt32BE(bytes.length, 0)
  data.set(bytes, lengthLength)
  const dataLength = storesPadding ? data.length : lengthLength + bytes.length
  const dataAt = blocks * code.parityShards * (crcLength + shardLength)
  const stored = Buffer.allocUnsafeSlow(dataAt + Math.ceil(dataLength / shardLength) * crcLength + dataLength)
  const parity = Array.from({ length: code.parityShards }, () => new Uint8Array(shardLength))
  let at = 0
  for (let block = 0; block < blocks; block++) {
    code.encode(
      shardsOf(data, { shardLength, first: block * code.dataShards, count: code.dataShards }),
      parity,
    )
    for (const shard of parity) {
      stored.writeUInt32BE(crc32(shard), at)
      stored.set(shard, at + crcLength)
      at += crcLength + shardLength
    }
  }
  for (let from = 0; from < dataLength; from += shardLength) {
    const shard = data.subarray(from, from + shardLength)
    stored.writeUInt32BE(crc32(shard), at)
    stored.set(from + shardLength > dataLength ? shard.subarray(0, dataLength - from) : shard, at + crcLength)
    at += crcLength + shardLength
  }
  return stored
}

function recover(stored: Uint8Array, layout: Layout): Uint8Array {
  const { code, blocks, shardLength } = layout
  const dataAt = blocks * code.parityShards * (crcLength + shardLength)
  if (stored.length <= dataAt) {
    throw corrupt(`${stored.length} bytes with error correction are too short to hold any data`)
  }
  const data = readShards(stored.subarray(dataAt), blocks * code.dataShards, shardLength)
  for (const block of new Set(Array.from(data.damaged, shard => Math.floor(shard / code.dataShards)))) {
    const parityAt = block * code.parityShards * (crcLength + shardLength)
    const parity = readShards(stored.subarray(parityAt, dataAt), code.parityShards, shardLength)
    if (!repairBlock({ layout, block, data, parity })) {
      throw corrupt(`${stored.length} bytes are damaged beyond what their error correction can repair`)
    }
  }
  const length = data.bytes.readUInt32BE(0)
  if (length > data.bytes.length - lengthLength) {
    throw corrupt(`${stored.length} bytes with error correction cannot hold the ${length} they claim to`)
  }
  return data.bytes.subarray(lengthLength, lengthLength + length)
}

/** Shards without their CRCs, and the numbers of those whose CRC is wrong. */
interface Shards {
  readonly bytes: Buffer
  readonly damaged: ReadonlySet<number>
}

/** Reads `count` shards. Those after the end of `stored` are padding that was not stored: zeros, without a CRC. */
function readShards(stored: Uint8Array, count: number, shardLength: number): Shards {
  const source = Buffer.from(stored.buffer, stored.byteOffset, stored.length)
  const bytes = Buffer.alloc(count * shardLength)
  const damaged = new Set<number>()
  for (let shard = 0; shard < count; shard++) {
    const from = shard * (crcLength + shardLength)
    if (from >= source.length) break
    const at = shard * shardLength
    bytes.set(source.subarray(from + crcLength, from + crcLength + shardLength), at)
    const expected = from + crcLength <= source.length ? source.readUInt32BE(from) : -1
    if (crc32(bytes.subarray(at, at + shardLength)) !== expected) damaged.add(shard)
  }
  return { bytes, damaged }
}

/** Writes the damaged data shards of one block anew; false when too few shards are whole. */
function repairBlock(options: { layout: Layout; block: number; data: Shards; parity: Shards }): boolean {
  const { code, shardLength } = options.layout
  const first = options.block * code.dataShards
  const dataShards = shardsOf(options.data.bytes, { shardLength, first, count: code.dataShards })
  const parityShards = shardsOf(options.parity.bytes, { shardLength, first: 0, count: code.parityShards })
  const repaired = code.reconstruct([
    ...dataShards.map((shard, i) => (options.data.damaged.has(first + i) ? undefined : shard)),
    ...parityShards.map((shard, i) => (options.parity.damaged.has(i) ? undefined : shard)),
  ])
  if (repaired === undefined) return false
  for (const [i, shard] of repaired.entries()) options.data.bytes.set(shard, (first + i) * shardLength)
  return true
}

function shardsOf(
  bytes: Uint8Array,
  { shardLength, first, count }: { shardLength: number; first: number; count: number },
): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, i) =>
    bytes.subarray((first + i) * shardLength, (first + i + 1) * shardLength),
  )
}
