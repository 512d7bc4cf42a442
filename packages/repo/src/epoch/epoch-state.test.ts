import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type BlobMetadata, blobId } from '../blob/storage.ts'
import { compareUtf8 } from '../go-json/go-json.ts'
import { parseEpochBlobName } from './epoch-blob-name.ts'
import { completeIndexSet, type EpochState, epochStateOf, isSettled } from './epoch-state.ts'

const hash = '00112233445566778899aabbccddeeff'
const setId = (n: number): string => `s${n.toString(16).padStart(16, '0')}`

function blob(id: string, fields: Partial<BlobMetadata> = {}): BlobMetadata {
  return { id: blobId(id), length: 100, timestamp: 0, ...fields }
}

function listed(...ids: string[]): EpochState {
  return epochStateOf(ids.toSorted(compareUtf8).map(id => blob(id)))
}

const chainOf = (state: EpochState): string[] => state.rangeChain.map(({ min, max }) => `${min}-${max}`)
const setOf = (state: EpochState): string[] => completeIndexSet(state).blobs.map(({ id }) => id)

describe('names of index blobs', () => {
  it('say what a blob is, with and without a session', () => {
    assert.deepEqual(parseEpochBlobName('xe12'), {
      kind: 'marker',
      min: 12,
      max: 12,
      setKey: 'xe12',
      setSize: 1,
    })
    assert.deepEqual(parseEpochBlobName('xw1794728032')?.min, 1794728032)
    assert.deepEqual(parseEpochBlobName(`xn0_${hash}--c1`)?.kind, 'uncompacted')
    const session = parseEpochBlobName(`xs3_${hash}-${setId(1)}-c2`)
    assert.deepEqual(session, { kind: 'single', min: 3, max: 3, setKey: setId(1), setSize: 2 })
    const range = parseEpochBlobName(`xr3_17_${hash}-${setId(1)}-c1`)
    assert.deepEqual([range?.kind, range?.min, range?.max], ['range', 3, 17])
  })

  it('of no known form mean nothing', () => {
    for (const id of [
      'x',
      'xe',
      'xe1a',
      'xq1_00',
      'xr5_3_00',
      'xn_00',
      'p00',
      'xe9999999999999999',
      'xw-1',
    ]) {
      assert.equal(parseEpochBlobName(id), undefined, id)
    }
  })
})

describe('the state of the index', () => {
  it('of an empty repository is epoch 0 without a watermark', () => {
    const state = listed()
    assert.equal(state.writeEpoch, 0)
    assert.equal(state.deletionWatermark, 0)
    assert.deepEqual(setOf(state), [])
  })

  it('takes the greatest epoch and watermark by number, not by text', () => {
    const state = listed('xe9', 'xe10', 'xw999', 'xw1000')
    assert.equal(state.writeEpoch, 10)
    assert.equal(state.deletionWatermark, 1000)
  })

  it('does not use a compaction before its last blob is there', () => {
    const first = `xs0_${hash}-${setId(1)}-c2`
    const second = `xs0_${hash.replace('00', '01')}-${setId(1)}-c2`
    assert.equal(listed('xe2', first).singles.has(0), false)
    assert.equal(listed('xe2', first, second).singles.get(0)?.length, 2)
  })

  it('does not mix blobs of two attempts at one compaction', () => {
    const state = listed('xe2', `xs0_${hash}-${setId(1)}-c2`, `xs0_${hash}-${setId(2)}-c2`)
    assert.equal(state.singles.has(0), false)
  })

  it('does not count a range of epoch 0 alone as a chain', () => {
    const one = `xr0_0_${hash}-${setId(1)}-c1`
    assert.deepEqual(chainOf(listed('xe5', one)), [])
    assert.deepEqual(chainOf(listed('xe5', one, `xr1_2_${hash}-${setId(1)}-c1`)), ['0-0', '1-2'])
  })

  it('chooses the chain of ranges that reaches farthest, with the fewest links', () => {
    const range = fc.tuple(fc.nat(9), fc.nat(4), fc.nat(3)).map(([min, more, set]) => ({
      min,
      max: min + more,
      name: `xr${min}_${min + more}_${hash}-${setId(set)}-c1`,
    }))
    fc.assert(
      fc.property(fc.uniqueArray(range, { maxLength: 12, selector: ({ name }) => name }), ranges => {
        const best = bestChain(ranges, 0)
        const state = listed('xe20', ...ranges.map(({ name }) => name))
        const usable = best.reach > 0 ? best : { reach: -1, links: 0 }
        assert.equal(state.rangeChain.at(-1)?.max ?? -1, usable.reach)
        assert.equal(state.rangeChain.length, usable.links)
        for (const [i, { min }] of state.rangeChain.entries()) {
          assert.equal(min, (state.rangeChain[i - 1]?.max ?? -1) + 1)
        }
      }),
    )
  })
})

/** All chains tried one after the other. */
function bestChain(
  ranges: readonly { min: number; max: number }[],
  start: number,
): { reach: number; links: number } {
  let best = { reach: start - 1, links: 0 }
  for (const { max } of ranges.filter(({ min }) => min === start)) {
    const rest = bestChain(ranges, max + 1)
    const candidate = { reach: rest.reach, links: rest.links + 1 }
    const better =
      candidate.reach > best.reach || (candidate.reach === best.reach && candidate.links < best.links)
    if (better) best = candidate
  }
  return best
}

describe('the complete index set', () => {
  it('reads epochs one by one until they are compacted and settled', () => {
    const single = `xs1_${hash}-${setId(1)}-c1`
    const state = listed(
      'xe2',
      `xn0_${hash}--c1`,
      `xn1_${hash}--c1`,
      `xn2_${hash}--c1`,
      `xn3_${hash}--c1`,
      single,
    )
    assert.equal(isSettled(state, 0), true)
    assert.equal(isSettled(state, 1), false)
    // The compaction of epoch 1 came too early to be trusted.
    assert.deepEqual(
      setOf(state),
      [0, 1, 2, 3].map(epoch => `xn${epoch}_${hash}--c1`),
    )
    assert.deepEqual(setOf(listed('xe3', `xn1_${hash}--c1`, single)), [single])
  })

  it('is not slowed down by an absurd epoch number', () => {
    assert.deepEqual(setOf(listed('xe999999999999999', `xn0_${hash}--c1`)), [`xn0_${hash}--c1`])
  })

  it('knows everything that was ever written, whatever was compacted, left half done or cleaned up', () => {
    fc.assert(
      fc.property(someHistory, history => {
        const { blobs, knowledge, everything } = play(history)
        const known = new Set(
          completeIndexSet(epochStateOf(blobs)).blobs.flatMap(({ id }) => knowledge.get(id) ?? []),
        )
        assert.deepEqual([...known].sort(), everything.toSorted())
      }),
      { numRuns: 1000 },
    )
  })
})

interface History {
  writeEpoch: number
  /** Index blobs per epoch, from epoch 0 to the one after the write epoch. */
  written: number[]
  compactions: { epoch: number; shards: number; complete: boolean; cleanedUp: boolean }[]
  ranges: { first: number; length: number; shards: number; complete: boolean }[]
}

const someHistory: fc.Arbitrary<History> = fc.record({
  writeEpoch: fc.nat(10),
  written: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
  compactions: fc.array(
    fc.record({
      epoch: fc.nat(10),
      shards: fc.integer({ min: 1, max: 3 }),
      complete: fc.boolean(),
      cleanedUp: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  ranges: fc.array(
    fc.record({
      first: fc.nat(8),
      length: fc.nat(6),
      shards: fc.integer({ min: 1, max: 2 }),
      complete: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
})

/** Plays a history by the rules for writers and maintainers; says what each blob knows. */
function play(history: History) {
  const knowledge = new Map<string, string[]>()
  const facts = (epoch: number) =>
    Array.from({ length: history.written[epoch] ?? 0 }, (_, i) => `fact ${i} of epoch ${epoch}`)
  const epochs = Array.from({ length: history.writeEpoch + 2 }, (_, epoch) => epoch)
  for (const epoch of epochs) {
    for (const [i, fact] of facts(epoch).entries()) knowledge.set(`xn${epoch}_${i}${hash}--c1`, [fact])
  }
  const isSettledHere = (epoch: number) => epoch <= history.writeEpoch - 2
  for (const [i, compaction] of history.compactions.entries()) {
    const { epoch, complete, cleanedUp } = compaction
    if (!isSettledHere(epoch)) continue
    writeSet(knowledge, { prefix: `xs${epoch}`, known: facts(epoch), id: setId(i), ...compaction })
    const superseded = complete && cleanedUp ? facts(epoch).keys() : []
    for (const number of superseded) knowledge.delete(`xn${epoch}_${number}${hash}--c1`)
  }
  for (const [i, range] of history.ranges.entries()) {
    const { first } = range
    const last = first + range.length
    if (!isSettledHere(last)) continue
    const known = epochs.slice(first, last + 1).flatMap(facts)
    writeSet(knowledge, { prefix: `xr${first}_${last}`, known, id: setId(i), ...range })
  }
  const names = [...knowledge.keys(), `xe${history.writeEpoch}`].toSorted(compareUtf8)
  return { blobs: names.map(id => blob(id)), knowledge, everything: epochs.flatMap(facts) }
}

interface SetToWrite {
  prefix: string
  known: string[]
  id: string
  shards: number
  complete: boolean
}

/** Spreads what a set knows over its blobs; an incomplete set lacks the first. */
function writeSet(
  knowledge: Map<string, string[]>,
  { prefix, known, id, shards, complete }: SetToWrite,
): void {
  for (let shard = complete ? 0 : 1; shard < shards; shard++) {
    const share = known.filter((_, i) => i % shards === shard)
    knowledge.set(`${prefix}_${shard}${hash}-${id}-c${shards}`, share)
  }
}
