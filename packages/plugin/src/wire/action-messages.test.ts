import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { OperationProgressSchema } from '../proto/velero/shared_pb.ts'
import { progressFromWire } from './action-messages.ts'

const lastSecond = 253_402_300_799n

function progressWith(seconds: bigint, nTotal = 0n) {
  const stamp = { seconds, nanos: 999_000_000 }
  return progressFromWire(
    create(OperationProgressSchema, { started: stamp, updated: stamp, nTotal }),
    'the plugin',
  )
}

describe('the progress that a plugin tells', () => {
  for (const [name, seconds] of [
    ['after the year 9999', lastSecond + 1n],
    ['that no Date can hold', 9_000_000_000_000n],
    ['of the largest seconds there are', 2n ** 63n - 1n],
    ['before the year 1', -62_135_596_802n],
    ['of the smallest seconds there are', -(2n ** 63n)],
  ] as const) {
    it(`has no time where it says one ${name}`, () => {
      const { started, updated } = progressWith(seconds)
      assert.deepEqual([started, updated], [undefined, undefined])
    })
  }

  it('has times up to the end of the year 9999', () => {
    assert.equal(progressWith(lastSecond).started, 253_402_300_799_999)
    assert.equal(progressWith(1n).started, 1999)
  })

  it('has counts that are written as Go reads them', () => {
    for (const [said, read] of [
      [2n ** 63n - 1n, Number.MAX_SAFE_INTEGER],
      [-(2n ** 63n), Number.MIN_SAFE_INTEGER],
      [7n, 7],
    ] as const) {
      assert.equal(progressWith(1n, said).nTotal, read)
    }
  })
})
