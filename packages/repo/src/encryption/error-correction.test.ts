import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createErrorCorrection, errorCorrectionName } from './error-correction.ts'

/** SHA-256 over what Kopia 0.22.3 stores, by overhead, for inputs of these lengths made by `input`, one after the other. */
const lengths = [0, 1, 20, 500, 1100, 5000, 20_000, 140_000]
const kopiaDigests: readonly (readonly [percent: number, digest: string])[] = [
  [1, '3f2da1b1ee3c555185a88eb58216a57d78f7551b71acbe6ec4e7cf9c20304d4c'],
  [2, 'f94aa1c9aa787013129d57b9ac41249531749d97c3a173d8dc963b0cdaceb72d'],
  [3, '160e978b6675af05daf9ea51d8fa4ee4b68571a9b7e1f3f34eb5681eb97eb76c'],
  [4, 'baac3277808a464d6c5f830aa3cfc14798db4704f287da971b82b3a87d593d4a'],
  [5, '3fca2e9e84d8238d505137cd7c53fa6d85ce209fdcccd456311d0af696187dd1'],
  [7, '4813b6f32a7931ae59db672d23dc41a3de4aa452d2c1ab8f93b6188f03eebfc9'],
  [10, '257cbd4f92f5413e873e902b36eee56e80f21677a9ee2260bb3d3d35c2996284'],
  [30, 'c7c2d34cfd4682b48b0cedd8098f651bdc6d69592caa44a360976985d1904e08'],
  [100, 'ec002ee751e2774e82eacbb3d29740c5cc242a404ee6b9f2e8f11fa77c4e6d0c'],
]

function input(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i * 7 + (i >> 8) * 13 + length)
}

/** Shapes from the description of the format: how many shards a block of such bytes has and how long they are. */
const shapes = [
  { percent: 10, length: 300, blocks: 1, data: 6, parity: 2, shard: 51 },
  { percent: 10, length: 5000, blocks: 1, data: 128, parity: 4, shard: 40 },
  { percent: 10, length: 20_000, blocks: 3, data: 128, parity: 4, shard: 64 },
  { percent: 5, length: 40_000, blocks: 3, data: 128, parity: 2, shard: 128 },
] as const
type Shape = (typeof shapes)[number]

/** The offsets where the shards of a block are stored: parity shards of all blocks come first, then data shards. */
function shardOffsets({ blocks, data, parity, shard, length }: Shape, block: number): number[] {
  const slot = 4 + shard
  const dataAt = blocks * parity * slot
  const dataShards = blocks === 1 ? data : Math.min(data, Math.ceil((length + 4) / shard) - block * data)
  return [
    ...Array.from({ length: parity }, (_, i) => (block * parity + i) * slot),
    ...Array.from({ length: dataShards }, (_, i) => dataAt + (block * data + i) * slot),
  ]
}

/** Damages a byte of each of the shards: of the CRC, or of the bytes behind it. */
function damage(stored: Uint8Array, offsets: readonly number[], byte: number): Uint8Array {
  const damaged = Uint8Array.from(stored)
  for (const offset of offsets) {
    const at = Math.min(offset + byte, damaged.length - 1)
    damaged[at] = (damaged[at] as number) ^ 0x5a
  }
  return damaged
}

describe('error correction', () => {
  for (const [percent, digest] of kopiaDigests) {
    it(`stores what Kopia stores with ${percent} percent, and reads it back`, () => {
      const correction = createErrorCorrection(errorCorrectionName, percent)
      const sum = createHash('sha256')
      for (const length of lengths) {
        const stored = correction.protect(input(length))
        sum.update(stored)
        assert.ok(Buffer.from(input(length)).equals(correction.recover(stored)), `${length} bytes`)
      }
      assert.equal(sum.digest('hex'), digest)
    })
  }

  for (const shape of shapes) {
    const correction = createErrorCorrection(errorCorrectionName, shape.percent)
    const plain = input(shape.length)
    const stored = correction.protect(plain)
    const perBlock = Array.from({ length: shape.blocks }, (_, block) => shardOffsets(shape, block))

    it(`repairs any ${shape.parity} damaged shards in each block of ${shape.length} bytes`, () => {
      const choices = fc.tuple(
        ...perBlock.map(offsets => fc.subarray(offsets, { minLength: 0, maxLength: shape.parity })),
      )
      fc.assert(
        fc.property(choices, fc.nat(shape.shard - 1), (chosen, byte) => {
          const damaged = damage(stored, chosen.flat(), byte)
          assert.ok(Buffer.from(plain).equals(correction.recover(damaged)))
        }),
        { numRuns: 40 },
      )
    })

    it(`names ${shape.length} bytes corrupt when one shard too many is damaged, a data shard among them`, () => {
      for (const offsets of perBlock) {
        const tooMany = offsets.slice(-1 - shape.parity)
        assert.throws(() => correction.recover(damage(stored, tooMany, 0)), {
          name: 'RepoError',
          code: 'CORRUPT',
        })
      }
    })
  }

  it('refuses bytes that are cut short or no such bytes at all', () => {
    const correction = createErrorCorrection(errorCorrectionName, 5)
    const stored = correction.protect(input(200))
    for (const length of [0, 1, 20, stored.length >> 1]) {
      assert.throws(() => correction.recover(stored.subarray(0, length)), {
        name: 'RepoError',
        code: 'CORRUPT',
      })
    }
    assert.throws(() => correction.recover(input(9999)), { name: 'RepoError', code: 'CORRUPT' })
  })
})
