import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseContentId } from './content-id.ts'
import { hiddenByWatermark, type IndexEntry, mergeEntries } from './index-entry.ts'
import { emptyIndexSet, type IndexSet } from './index-set.ts'
import { serializeIndex } from './serialize-index.ts'

const someEntry: fc.Arbitrary<IndexEntry> = fc.record(
  {
    contentId: fc
      .tuple(fc.constantFrom('', 'k', 'm'), fc.nat(30))
      .map(([letter, number]) => parseContentId(letter + number.toString(16).padStart(8, '0'))),
    timestamp: fc.integer({ min: 1, max: 20 }),
    packBlobId: fc.stringMatching(/^[pq][0-9a-f]$/),
    packOffset: fc.constant(32),
    packedLength: fc.constant(128),
    originalLength: fc.constant(100),
    compressionId: fc.constant(0),
    formatVersion: fc.constant(3),
    encryptionKeyId: fc.constant(0),
    deleted: fc.boolean(),
  },
  { noNullPrototype: true },
)
const someBlobs = fc.array(fc.array(someEntry, { minLength: 1, maxLength: 8 }), { maxLength: 40 })

function load(set: IndexSet, blobs: ReadonlyMap<string, Uint8Array>, deletionWatermark: number): IndexSet {
  const builder = set.next({ blobNames: blobs.keys(), deletionWatermark })
  for (const name of builder.missing) builder.add(name, blobs.get(name)!)
  return builder.build()
}

function named(lists: readonly IndexEntry[][], prefix: string): Map<string, Uint8Array> {
  return new Map(lists.map((entries, i) => [`${prefix}${i}`, serializeIndex(entries, 2)]))
}

function visible(entries: readonly IndexEntry[], watermark: number): IndexEntry[] {
  return [...new Set(entries.map(entry => entry.contentId))]
    .sort()
    .map(id => mergeEntries(entries.filter(entry => entry.contentId === id))!)
    .filter(entry => !hiddenByWatermark(entry, watermark))
}

describe('an index set', () => {
  it('shows the entries that count over any number of blobs, without those under the watermark', () => {
    fc.assert(
      fc.property(someBlobs, fc.nat(20), (lists, watermark) => {
        const set = load(emptyIndexSet(), named(lists, 'x'), watermark)
        const expected = visible(lists.flat(), watermark)
        assert.deepEqual([...set.entries()], expected)
        assert.deepEqual(
          [...set.entries({ prefix: 'k' })],
          expected.filter(entry => entry.contentId.startsWith('k')),
        )
        assert.deepEqual(
          [...set.entries({ prefix: '' })],
          expected.filter(entry => entry.contentId.length === 8),
        )
        for (const entry of expected) assert.deepEqual(set.get(entry.contentId), entry)
        assert.equal(set.get(parseContentId('zffffffff')), undefined)
      }),
    )
  })

  it('follows blobs that come and go, as if it were loaded anew', () => {
    fc.assert(
      fc.property(someBlobs, someBlobs, fc.nat(24), (before, added, drop) => {
        const first = named(before, 'x')
        const second = new Map([...[...first].slice(drop), ...named(added, 'y')])
        const grown = load(load(emptyIndexSet(), first, 0), second, 0)
        const fresh = load(emptyIndexSet(), second, 0)
        assert.deepEqual([...grown.entries()], [...fresh.entries()])
        assert.deepEqual(grown.blobNames, fresh.blobNames)
      }),
    )
  })

  it('asks again for nothing it still holds', () => {
    const blobs = named([[someOne(1)], [someOne(2)]], 'x')
    const set = load(emptyIndexSet(), blobs, 0)
    const builder = set.next({ blobNames: [...blobs.keys(), 'new'], deletionWatermark: 0 })
    assert.deepEqual(builder.missing, ['new'])
  })

  it('is not changed by what is built from it', () => {
    const set = load(emptyIndexSet(), named([[someOne(1)]], 'x'), 0)
    load(set, named([[someOne(2)]], 'y'), 0)
    assert.deepEqual(
      [...set.entries()].map(entry => entry.contentId),
      ['00000001'],
    )
  })

  it('names a blob that is no index', () => {
    const builder = emptyIndexSet().next({ blobNames: ['x'], deletionWatermark: 0 })
    assert.throws(() => builder.add('x', Uint8Array.of(9)), { code: 'CORRUPT', blobId: 'x' })
  })
})

function someOne(number: number): IndexEntry {
  return {
    contentId: parseContentId(number.toString(16).padStart(8, '0')),
    timestamp: 1,
    packBlobId: 'p1',
    packOffset: 0,
    packedLength: 30,
    originalLength: 2,
    compressionId: 0,
    formatVersion: 3,
    encryptionKeyId: 0,
    deleted: false,
  }
}
