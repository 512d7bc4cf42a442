import assert from 'node:assert/strict'
import { createHash, hash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createBuzhash } from './buzhash.ts'
import { buzhashTable } from './buzhash-table.ts'
import { cutOffsets } from './cut-offsets.ts'
import { dynamicSplitter } from './dynamic-splitter.ts'
import { createRabinKarp, remainder } from './rabin-karp.ts'
import { createSplitter, type Splitter, splitterNames } from './splitter.ts'

const mebi = 1 << 20

/** The SHA-256 of the numbers 0, 1, 2, … one after the other: the stream that Kopia's cuts are known for. */
function hashStream(length: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(length)
  const counter = Buffer.alloc(4)
  for (let i = 0; i < length / 32; i++) {
    counter.writeUInt32BE(i, 0)
    hash('sha256', counter, 'buffer').copy(bytes, 32 * i)
  }
  return bytes
}

const stream = hashStream(42 * mebi)

/** The offsets of all cuts when the bytes are fed in slices of the given sizes, which repeat. */
function cutsOf(splitter: Splitter, bytes: Uint8Array, sliceSizes: readonly number[]): number[] {
  const cuts: number[] = []
  for (let from = 0, slice = 0; from < bytes.length; slice++) {
    const end = Math.min(from + (sliceSizes[slice % sliceSizes.length] as number), bytes.length)
    while (from < end) {
      const cut = splitter.nextCut(bytes.subarray(from, end))
      if (cut === -1) break
      from += cut
      cuts.push(from)
    }
    from = end
  }
  return cuts
}

/** The cuts by definition: after each byte the hash of the last 64 bytes is computed anew. */
function cutsByDefinition(
  bytes: Uint8Array,
  average: number,
  windowHash: (window: Uint8Array) => number,
): number[] {
  const cuts: number[] = []
  for (let start = 0, end = 1; end <= bytes.length; end++) {
    const length = end - start
    const fits = length >= average / 2 && (windowHash(bytes.subarray(end - 64, end)) & (average - 1)) === 0
    if (!fits && length < 2 * average) continue
    cuts.push(end)
    start = end
  }
  return cuts
}

function buzhashOf(window: Uint8Array): number {
  return window.reduce((sum, byte) => ((sum << 1) | (sum >>> 31)) ^ (buzhashTable[byte] as number), 0)
}

function rabinKarpOf(window: Uint8Array): number {
  return Number(BigInt.asIntN(32, remainder(BigInt(`0x${Buffer.from(window).toString('hex')}`))))
}

const kopiaCuts: readonly { name: string; length: number; cuts: readonly number[] }[] = [
  {
    name: 'DYNAMIC-4M-BUZHASH',
    length: 42 * mebi,
    cuts: [8388608, 16777216, 25165824, 33554432, 37018681, 41199052],
  },
  {
    name: 'DYNAMIC-1M-BUZHASH',
    length: 12469243,
    cuts: [2097152, 3493486, 4148563, 6245715, 8157187, 9037477, 9656906, 10476737, 12469243],
  },
  {
    name: 'DYNAMIC-128K-BUZHASH',
    length: 1863902,
    cuts: [254078, 474789, 623350, 885494, 1147638, 1250760, 1424997, 1601758, 1863902],
  },
  { name: 'DYNAMIC-128K-RABINKARP', length: mebi, cuts: [250938, 513082, 733429, 813526, 897134] },
]

describe('splitter', () => {
  it('reads the stream that the known cuts belong to', () => {
    const digest = createHash('sha256')
      .update(stream.subarray(0, 32 * mebi))
      .digest('hex')
    assert.equal(digest, '9344d0081ef98c16e714b182e22afeacecce3578f1b6d8462201515364cf8f27')
  })

  for (const { name, length, cuts } of kopiaCuts) {
    it(`${name} cuts where Kopia does`, () => {
      assert.deepEqual(cutOffsets(createSplitter(name), stream.subarray(0, length)), cuts)
    })
  }

  for (const name of ['DYNAMIC-128K-BUZHASH', 'DYNAMIC-128K-RABINKARP', 'FIXED-128K']) {
    const bytes = stream.subarray(0, 600_000)
    const cuts = cutOffsets(createSplitter(name), bytes)

    it(`${name} cuts at the same places when fed byte by byte`, () => {
      assert.deepEqual(cutsOf(createSplitter(name), bytes, [1]), cuts)
    })

    it(`${name} cuts at the same places however the stream is sliced`, () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 20 })
      fc.assert(
        fc.property(sizes, sliceSizes =>
          assert.deepEqual(cutsOf(createSplitter(name), bytes, sliceSizes), cuts),
        ),
      )
    })
  }

  for (const [name, createHashOf, windowHash] of [
    ['buzhash', createBuzhash, buzhashOf],
    ['Rabin-Karp', createRabinKarp, rabinKarpOf],
  ] as const) {
    it(`${name} cuts by definition: where the hash of the last 64 bytes fits, between half and twice the average`, () => {
      const average = fc.constantFrom(128, 256, 512)
      const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 10 })
      const bytes = fc.uint8Array({ minLength: 0, maxLength: 4000, size: 'max' })
      fc.assert(
        fc.property(average, sizes, bytes, (avg, sliceSizes, data) => {
          const cuts = cutsOf(dynamicSplitter(avg, createHashOf(avg)), data, sliceSizes)
          assert.deepEqual(cuts, cutsByDefinition(data, avg, windowHash))
        }),
        { numRuns: windowHash === rabinKarpOf ? 10 : 50 },
      )
    })
  }

  it('cuts zeros at half the average, because their buzhash is zero', () => {
    const cuts = cutsOf(createSplitter('DYNAMIC-4M-BUZHASH'), new Uint8Array(20 * mebi), [65536])
    assert.deepEqual(
      cuts,
      Array.from({ length: 10 }, (_, i) => (i + 1) * 2097152),
    )
  })

  it('forgets the stream on reset', () => {
    const splitter = createSplitter('DYNAMIC-128K-BUZHASH')
    splitter.nextCut(stream.subarray(0, 100_000))
    splitter.reset()
    assert.equal(splitter.nextCut(stream), 254078)
  })

  it('cuts a fixed size exactly, and nothing after the last whole one', () => {
    const splitter = createSplitter('FIXED-1M')
    assert.deepEqual(cutsOf(splitter, stream.subarray(0, 3 * mebi), [700_001]), [mebi, 2 * mebi, 3 * mebi])
    assert.equal(splitter.nextCut(new Uint8Array(0)), -1)
    assert.equal(splitter.nextCut(stream.subarray(0, mebi - 1)), -1)
    assert.equal(splitter.nextCut(stream.subarray(0, 1)), 1)
  })

  it('keeps every content within the maximum it names', () => {
    for (const name of splitterNames) {
      const splitter = createSplitter(name)
      const ends = [0, ...cutsOf(splitter, stream.subarray(0, 20 * mebi), [mebi])]
      assert.ok(
        ends.slice(1).every((end, i) => end - (ends[i] as number) <= splitter.maxSegment),
        name,
      )
    }
  })

  it('knows the 21 names and both aliases, and says so for any other', () => {
    assert.equal(splitterNames.length, 23)
    assert.equal(createSplitter('FIXED').maxSegment, 4 * mebi)
    assert.equal(createSplitter('DYNAMIC').maxSegment, 8 * mebi)
    assert.deepEqual(cutOffsets(createSplitter('DYNAMIC'), stream), kopiaCuts[0]?.cuts)
    assert.throws(() => createSplitter('DYNAMIC-3M'), { name: 'RepoError', code: 'UNSUPPORTED_FORMAT' })
  })
})

describe('buzhash table', () => {
  it('is the one that Kopia uses', () => {
    const bytes = Buffer.alloc(1024)
    for (const [i, word] of buzhashTable.entries()) bytes.writeInt32BE(word, 4 * i)
    const digest = createHash('sha256').update(bytes).digest('hex')
    assert.equal(digest, '9f95254df5585a4957a754ceac4fba2a8af24ad015e84f56db59dfc1e218f6dd')
  })
})

describe('Rabin-Karp remainder', () => {
  for (const [text, value] of [
    ['abcdefg', 0x132021ba359c68n],
    ['size:  a.out:  bad magic', 0x1da35eec936b1cn],
  ] as const) {
    it(`of "${text}" is the known one`, () => {
      assert.equal(remainder(BigInt(`0x${Buffer.from(text).toString('hex')}`)), value)
    })
  }
})
