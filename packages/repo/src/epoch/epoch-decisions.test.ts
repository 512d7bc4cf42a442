import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BlobMetadata, blobId } from '../blob/storage.ts'
import { defaultEpochParameters } from '../format/format-parameters.ts'
import {
  epochToCompact,
  markersToDelete,
  rangeToCheckpoint,
  shouldAdvanceEpoch,
  supersededIndexes,
} from './epoch-decisions.ts'
import { epochStateOf } from './epoch-state.ts'

const hour = 3_600_000
const hash = '00112233445566778899aabbccddeeff'
const set = 's0000000000000001-c1'
const parameters = defaultEpochParameters

function blob(id: string, timestamp = 0, length = 100): BlobMetadata {
  return { id: blobId(id), length, timestamp }
}

/** Indexes of one epoch: the first written at time 0, the others at `last`. */
function indexes(epoch: number, count: number, { last = 0, length = 100 } = {}): BlobMetadata[] {
  return Array.from({ length: count }, (_, i) =>
    blob(`xn${epoch}_${i}${hash}--c1`, i === 0 ? 0 : last, length),
  )
}

describe('the next epoch', () => {
  it('begins after a day when 20 indexes were written', () => {
    assert.equal(shouldAdvanceEpoch(epochStateOf(indexes(0, 20, { last: 24 * hour })), parameters), true)
    assert.equal(shouldAdvanceEpoch(epochStateOf(indexes(0, 20, { last: 24 * hour - 1 })), parameters), false)
    assert.equal(shouldAdvanceEpoch(epochStateOf(indexes(0, 19, { last: 24 * hour })), parameters), false)
  })

  it('begins after a day when 10 MiB of indexes were written', () => {
    assert.equal(
      shouldAdvanceEpoch(epochStateOf(indexes(0, 2, { last: 24 * hour, length: 5 << 20 })), parameters),
      true,
    )
    assert.equal(
      shouldAdvanceEpoch(epochStateOf(indexes(0, 2, { last: 24 * hour, length: (5 << 20) - 1 })), parameters),
      false,
    )
  })

  it('looks at the write epoch only', () => {
    assert.equal(
      shouldAdvanceEpoch(epochStateOf([blob('xe1'), ...indexes(0, 20, { last: 24 * hour })]), parameters),
      false,
    )
    assert.equal(shouldAdvanceEpoch(epochStateOf([]), parameters), false)
  })
})

describe('the epoch to compact', () => {
  it('is the oldest that is settled and has no compaction', () => {
    const blobs = [0, 1, 2, 3].flatMap(epoch => indexes(epoch, 1))
    assert.equal(epochToCompact(epochStateOf([...blobs, blob('xe3')])), 0)
    assert.equal(epochToCompact(epochStateOf([...blobs, blob('xe3'), blob(`xs0_${hash}-${set}`)])), 1)
    const both = [blob(`xs0_${hash}-${set}`), blob(`xs1_${hash}-${set}`)]
    assert.equal(epochToCompact(epochStateOf([...blobs, blob('xe3'), ...both])), undefined)
    assert.equal(epochToCompact(epochStateOf([...blobs, blob('xe1')])), undefined)
  })

  it('is none that a range covers', () => {
    const blobs = [0, 1, 2, 3].flatMap(epoch => indexes(epoch, 1))
    assert.equal(epochToCompact(epochStateOf([...blobs, blob('xe4'), blob(`xr0_1_${hash}-${set}`)])), 2)
  })
})

describe('a range checkpoint', () => {
  it('is due when eight epochs have settled since the last', () => {
    assert.equal(rangeToCheckpoint(epochStateOf([blob('xe8')]), parameters), undefined)
    assert.deepEqual(rangeToCheckpoint(epochStateOf([blob('xe9')]), parameters), { first: 0, last: 7 })
    const later = [blob('xe17'), blob(`xr0_7_${hash}-${set}`)]
    assert.deepEqual(rangeToCheckpoint(epochStateOf(later), parameters), { first: 8, last: 15 })
  })
})

describe('cleaning up', () => {
  const now = 10 * hour

  it('deletes markers of old epochs and watermarks replaced four hours ago', () => {
    const state = epochStateOf([
      ...['xe1', 'xe2', 'xe3'].map(id => blob(id)),
      blob('xw100', now - 4 * hour - 1),
      blob('xw200', now - 4 * hour),
      blob('xw300', 0),
      blob(`xn3_${hash}--c1`, now),
    ])
    assert.deepEqual(markersToDelete(state, parameters), ['xe1', 'xw100'])
  })

  it('deletes indexes four hours after their compaction, by the clock of the storage', () => {
    const compacted = (age: number) =>
      epochStateOf([
        blob('xe3'),
        ...indexes(0, 2),
        ...indexes(1, 1),
        blob(`xs0_${hash}-${set}`, now - age),
        blob(`xn3_${hash}--c1`, now),
      ])
    assert.deepEqual(supersededIndexes(compacted(4 * hour), parameters), [])
    assert.deepEqual(supersededIndexes(compacted(4 * hour + 1), parameters), [
      `xn0_0${hash}--c1`,
      `xn0_1${hash}--c1`,
    ])
  })

  it('deletes nothing when no recent index shows the time', () => {
    const state = epochStateOf([
      blob('xe1'),
      blob('xe9'),
      ...indexes(0, 1),
      blob(`xs0_${hash}-${set}`, -99 * hour),
    ])
    assert.deepEqual(markersToDelete(state, parameters), [])
    assert.deepEqual(supersededIndexes(state, parameters), [])
  })
})
