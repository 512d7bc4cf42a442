import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { RepoError } from '../errors/repo-error.ts'
import { type ContentId, contentIdFromBytes, contentIdToBytes, parseContentId } from './content-id.ts'
import { contentIdOfRecord, toIndexEntry } from './entry-record.ts'
import { compareEntries, hiddenByWatermark, type IndexEntry, mergeEntries } from './index-entry.ts'
import { mergeIndexes } from './merge-indexes.ts'
import { parseIndex } from './pack-index.ts'
import { mergeIndexBlobs, serializeIndex, serializeShards } from './serialize-index.ts'
import { fnv1a, shardOf, shardOfRecord } from './shard.ts'

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')
const hex = (data: Uint8Array): string => Buffer.from(data).toString('hex')

const entryA: IndexEntry = {
  contentId: parseContentId('0011'),
  timestamp: 1700000000,
  packBlobId: 'p1',
  packOffset: 32,
  packedLength: 128,
  originalLength: 100,
  compressionId: 0,
  formatVersion: 3,
  encryptionKeyId: 0,
  deleted: false,
}
const entryB: IndexEntry = {
  contentId: parseContentId('k0a0b'),
  timestamp: 1700000001,
  packBlobId: 'q22',
  packOffset: 4096,
  packedLength: 900,
  originalLength: 5000,
  compressionId: 0x1101,
  formatVersion: 3,
  encryptionKeyId: 0,
  deleted: true,
}
// Vectors of the format's description, made by an implementation whose indexes equal Kopia's byte for byte.
const twoEntriesV2 = bytes(`0203 0011 00000002 00000002 02 00000000
  000011 6553f100 00000020 000064 000080 0000 00
  6b0a0b 6553f101 80001000 001388 000384 0001 01
  02 0000004f  03 00000051
  00000000 03 00  00001101 03 00
  7031 713232`)
const longEntryV2 = bytes(`0203 0013 00000001 00000001 01 00000000
  000011 6553f100 00000020 000000 00001c 0000 00 00 11  02 00000032  00000000 03 00  7031`)
const twoEntriesV1 = bytes(`0103 0014 00000002
  000011 00006553f100 01 02 00000036 00000020 00000080
  6b0a0b 00006553f101 01 03 00000038 80001000 00000384  7031 713232`)

const someEntry: fc.Arbitrary<IndexEntry> = fc.record(
  {
    contentId: fc
      .tuple(fc.constantFrom('', 'k', 'm', 'x'), fc.uint8Array({ minLength: 4, maxLength: 4 }))
      .map(([letter, hash]) => parseContentId(letter + hex(hash))),
    timestamp: fc.integer({ min: 0, max: 0xffffffff }),
    packBlobId: fc.stringMatching(/^[pq][0-9a-f]{1,4}$/),
    packOffset: fc.integer({ min: 0, max: 2 ** 30 - 1 }),
    packedLength: fc.integer({ min: 0, max: 2 ** 28 - 1 }),
    originalLength: fc.integer({ min: 0, max: 2 ** 28 - 1 }),
    compressionId: fc.constantFrom(0, 0x1000, 0x1101),
    formatVersion: fc.constantFrom(1, 2, 3),
    encryptionKeyId: fc.constant(0),
    deleted: fc.boolean(),
  },
  { noNullPrototype: true },
)

/** Hashes of which many begin alike, and some are the same: what a search by the first bits finds hardest. */
const crowdedEntry: fc.Arbitrary<IndexEntry> = fc
  .record({
    entry: someEntry,
    letter: fc.constantFrom('', '', '', 'g', 'k', 'z'),
    start: fc.constantFrom('000000', '0000ff', '7fffff', '800000', 'ffffff'),
    rest: fc.nat(60),
  })
  .map(({ entry, letter, start, rest }) => ({
    ...entry,
    contentId: parseContentId(letter + start + rest.toString(16).padStart(4, '0')),
  }))

/** What a merge must say, worked out the slow way. */
function winners(entries: readonly IndexEntry[]): IndexEntry[] {
  const ids = [...new Set(entries.map(entry => entry.contentId))].sort()
  return ids.map(id => mergeEntries(entries.filter(entry => entry.contentId === id))!)
}

function hashed(number: number): ContentId {
  return parseContentId(createHash('sha256').update(String(number)).digest('hex').slice(0, 32))
}

const isCorrupt = (error: unknown): boolean => error instanceof RepoError && error.code === 'CORRUPT'

describe('an index of version 2', () => {
  it('equals the reference bytes for two entries in any order', () => {
    assert.equal(hex(serializeIndex([entryB, entryA], 2)), hex(twoEntriesV2))
    assert.deepEqual([...parseIndex(twoEntriesV2).entries()], [entryA, entryB])
  })

  it('grows its entries to 19 bytes for lengths of 16 MiB and more', () => {
    const long = { ...entryA, originalLength: 0x1000000, packedLength: 0x100001c }
    assert.equal(hex(serializeIndex([long], 2)), hex(longEntryV2))
    assert.deepEqual(parseIndex(longEntryV2).get(entryA.contentId), long)
  })

  it('adds the base timestamp and ignores bytes after its end', () => {
    const shifted = Buffer.concat([twoEntriesV2, Buffer.alloc(32, 7)])
    shifted.writeUInt32BE(5, 13)
    assert.equal(parseIndex(shifted).get(entryA.contentId)?.timestamp, 1700000005)
  })

  it('numbers more than 65536 packs in 18-byte entries', () => {
    const many = Array.from({ length: 65537 }, (_, i) => ({
      ...entryA,
      contentId: parseContentId(i.toString(16).padStart(8, '0')),
      packBlobId: `p${i}`,
    }))
    const index = parseIndex(serializeIndex(many, 2))
    assert.equal(index.get(parseContentId('00010000'))?.packBlobId, 'p65536')
  })

  it('returns every entry it was made of and finds nothing else', () => {
    fc.assert(
      fc.property(fc.array(someEntry, { minLength: 1, maxLength: 40 }), entries => {
        const index = parseIndex(serializeIndex(entries, 2))
        const expected = winners(entries)
        assert.deepEqual([...index.entries()], expected)
        for (const entry of expected) assert.deepEqual(index.get(entry.contentId), entry)
        assert.equal(index.get(parseContentId('z00000000')), undefined)
        assert.equal(index.get(parseContentId('0000')), undefined)
      }),
    )
  })

  it('finds each of many entries and nothing else, however their hashes crowd', () => {
    fc.assert(
      fc.property(fc.array(crowdedEntry, { minLength: 100, maxLength: 400 }), entries => {
        const absent = entries.splice(0, 50)
        const index = parseIndex(serializeIndex(entries, 2))
        const expected = new Map(winners(entries).map(entry => [entry.contentId, entry]))
        assert.deepEqual([...index.entries()], [...expected.values()])
        for (const { contentId } of [...absent, ...expected.values()]) {
          assert.deepEqual(index.get(contentId), expected.get(contentId))
        }
      }),
      { numRuns: 50 },
    )
  })

  it('finds each of 20,000 hashes and none of as many others', () => {
    const entries = Array.from({ length: 20_000 }, (_, i) => ({
      ...entryA,
      contentId: hashed(i),
      packOffset: i,
    }))
    const index = parseIndex(serializeIndex(entries, 2))
    for (const entry of entries) assert.equal(index.get(entry.contentId)?.packOffset, entry.packOffset)
    for (let i = 20_000; i < 40_000; i++) assert.equal(index.get(hashed(i)), undefined)
  })

  it('refuses entries that its fields cannot hold', () => {
    for (const wrong of [
      { packOffset: 2 ** 30 },
      { packedLength: 2 ** 28 },
      { originalLength: 2 ** 28 },
      { packBlobId: 'p'.repeat(256) },
      { timestamp: 2 ** 32 },
    ]) {
      assert.throws(() => serializeIndex([{ ...entryA, ...wrong }], 2), { code: 'INVALID_ARGUMENT' })
    }
    for (const longer of ['k0a0b0c', '001100']) {
      const otherLength = { ...entryB, contentId: parseContentId(longer) }
      assert.throws(() => serializeIndex([entryA, otherLength], 2), { code: 'INVALID_ARGUMENT' })
    }
  })
})

describe('an index of version 1', () => {
  const a = { ...entryA, formatVersion: 1 }
  const b = { ...entryB, formatVersion: 1, compressionId: 0, originalLength: 900 - 28 }

  it('equals the reference bytes', () => {
    assert.equal(hex(serializeIndex([a, b], 1)), hex(twoEntriesV1))
    assert.deepEqual([...parseIndex(twoEntriesV1).entries()], [a, b])
  })

  it('takes the original length from the packed length', () => {
    assert.equal(parseIndex(twoEntriesV1, { encryptionOverhead: 40 }).get(b.contentId)?.originalLength, 860)
  })

  it('may be empty', () => {
    const empty = serializeIndex([], 1)
    assert.equal(hex(empty), '01ff001400000000')
    assert.deepEqual([...parseIndex(empty).entries()], [])
  })
})

describe('damaged index bytes', () => {
  for (const [name, whole] of [
    ['1', twoEntriesV1],
    ['2', twoEntriesV2],
  ] as const) {
    it(`of version ${name} are refused wherever they are cut`, () => {
      for (let length = 0; length < whole.length; length++) {
        assert.throws(
          () => [...parseIndex(whole.subarray(0, length)).entries()],
          isCorrupt,
          `cut at ${length}`,
        )
      }
    })

    it(`of version ${name} never fail in another way than CORRUPT`, () => {
      fc.assert(
        fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, value) => {
          const damaged = Uint8Array.from(whole)
          damaged[at] = value
          try {
            for (const _ of parseIndex(damaged).entries());
          } catch (error) {
            assert.ok(isCorrupt(error), String(error))
          }
        }),
        { numRuns: 2000 },
      )
    })
  }

  it('are refused when the keys are not in order', () => {
    const swapped = Uint8Array.from(twoEntriesV2)
    swapped[17] = 0x7a
    assert.throws(() => parseIndex(swapped), isCorrupt)
  })

  it('are refused when they are not an index at all', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), data => {
        try {
          for (const _ of parseIndex(data).entries());
        } catch (error) {
          assert.ok(isCorrupt(error), String(error))
        }
      }),
    )
  })
})

describe('the entry that counts', () => {
  it('is the latest, then the one not deleted, then the one in the greater pack', () => {
    const base = { timestamp: 10, deleted: true, packBlobId: 'p2' }
    assert.ok(compareEntries({ ...base, timestamp: 11 }, { ...base, deleted: false }) > 0)
    assert.ok(compareEntries({ ...base, deleted: false, packBlobId: 'p1' }, base) > 0)
    assert.ok(compareEntries({ ...base, packBlobId: 'p3' }, base) > 0)
    assert.equal(compareEntries(base, base), 0)
  })

  it('is hidden by the watermark only when deleted and not later', () => {
    assert.equal(hiddenByWatermark({ timestamp: 10, deleted: true, packBlobId: '' }, 10), true)
    assert.equal(hiddenByWatermark({ timestamp: 11, deleted: true, packBlobId: '' }, 10), false)
    assert.equal(hiddenByWatermark({ timestamp: 10, deleted: false, packBlobId: '' }, 10), false)
  })
})

describe('merging indexes', () => {
  // Entries equal in what decides are equal in all, as real ones are; otherwise either might be the winner.
  const decided = someEntry.map(entry => ({
    ...entry,
    packOffset: entry.timestamp % 999,
    packedLength: 5,
    originalLength: 7,
    compressionId: 0,
    formatVersion: 3,
  }))
  const someIndexes = fc.array(fc.array(decided, { minLength: 1, maxLength: 15 }), { maxLength: 6 })

  it('walks them as one sorted index of the entries that count', () => {
    fc.assert(
      fc.property(someIndexes, lists => {
        const indexes = lists.map(entries => parseIndex(serializeIndex(entries, 2)))
        assert.deepEqual(Array.from(mergeIndexes(indexes), toIndexEntry), winners(lists.flat()))
      }),
    )
  })

  it('writes what serializing all entries at once would write', () => {
    fc.assert(
      fc.property(someIndexes, lists => {
        const indexes = lists.map(entries => parseIndex(serializeIndex(entries, 2)))
        const expected = lists.length === 0 ? [] : [hex(serializeIndex(lists.flat(), 2))]
        assert.deepEqual(mergeIndexBlobs(indexes, { version: 2 }).map(hex), expected)
      }),
    )
  })

  it('walks only the range that is asked for', () => {
    const index = parseIndex(twoEntriesV2)
    const range = { from: Uint8Array.of(0x6b), to: Uint8Array.of(0x6c) }
    assert.deepEqual(Array.from(mergeIndexes([index], range), contentIdOfRecord), ['k0a0b'])
  })
})

describe('sharding', () => {
  // Ids and counts of Kopia's own test for index shards.
  const ids = Array.from({ length: 10000 }, (_, i) => {
    const letter = i % 5 === 0 ? 'm' : i % 7 === 0 ? 'y' : i % 2 === 0 ? 'x' : ''
    return parseContentId(letter + createHash('sha1').update(String(i)).digest('hex'))
  })
  const expected: Record<number, number[]> = {
    5: [1952, 1995, 2005, 2013, 2035],
    10: [945, 964, 988, 988, 993, 1002, 1014, 1017, 1021, 1068],
  }

  it('hashes content ids with FNV-1a', () => {
    assert.equal(fnv1a('m0123'), 0xd7957258)
  })

  for (const shards of [5, 10]) {
    it(`spreads 10000 contents over ${shards} shards as Kopia does`, () => {
      const counts = new Array<number>(shards).fill(0)
      for (const id of ids) counts[shardOf(id, shards)]!++
      assert.deepEqual(
        counts.sort((a, b) => a - b),
        expected[shards],
      )
    })

    it(`writes ${shards} index blobs with those entries`, () => {
      const entries = ids.map(contentId => ({ ...entryA, contentId }))
      const blobs = serializeShards(entries, { version: 2, shardSize: 10000 / shards })
      const counts = blobs.map(blob => parseIndex(blob).count)
      assert.deepEqual(
        counts.sort((a, b) => a - b),
        expected[shards],
      )
    })
  }

  it('is the same for a record as for its id', () => {
    const index = parseIndex(
      serializeIndex(
        ids.map(contentId => ({ ...entryA, contentId })),
        2,
      ),
    )
    for (const record of mergeIndexes([index])) {
      assert.equal(shardOfRecord(record, 97), shardOf(contentIdOfRecord(record), 97))
    }
  })

  it('writes nothing for no entries', () => {
    assert.deepEqual(serializeShards([], { version: 2 }), [])
  })
})

describe('content ids', () => {
  it('have a binary form with the letter first', () => {
    assert.equal(hex(contentIdToBytes('k0a0b' as ContentId)), '6b0a0b')
    assert.equal(hex(contentIdToBytes('0a0b' as ContentId)), '000a0b')
    assert.equal(contentIdFromBytes(bytes('ff6b0a0bff'), 1, 3), 'k0a0b')
  })

  it('sort as text like their binary form', () => {
    const id = fc
      .tuple(fc.constantFrom('', 'g', 'k', 'z'), fc.uint8Array({ minLength: 2, maxLength: 2 }))
      .map(([letter, hash]) => parseContentId(letter + hex(hash)))
    fc.assert(
      fc.property(id, id, (a, b) => {
        const order = Buffer.compare(contentIdToBytes(a), contentIdToBytes(b))
        assert.equal(order, a < b ? -1 : a > b ? 1 : 0)
        assert.equal(contentIdFromBytes(contentIdToBytes(a)), a)
      }),
    )
  })

  it('are refused when they are none', () => {
    for (const text of ['', 'k', 'f', '0', 'a0g0', 'A0', 'kk00', 'f00 ', `k${'0'.repeat(200)}`]) {
      assert.throws(() => parseContentId(text), { code: 'INVALID_ARGUMENT' }, text)
    }
    assert.throws(() => contentIdFromBytes(bytes('010a0b')), isCorrupt)
  })
})
