import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BlobMetadata, blobId } from '../blob/storage.ts'
import { excessLogs } from './excess-logs.ts'

const hour = 3_600_000
const start = 1000 * hour

describe('excess logs', () => {
  const logs: BlobMetadata[] = [5, 1, 3, 2, 4].map(age => {
    return { id: blobId(`_log_${age}`), length: 10, timestamp: start - age * hour }
  })
  const excess = (limits: { maxTotalSize?: bigint; maxCount?: number; maxAge?: bigint }) =>
    excessLogs(logs, { maxTotalSize: 0n, maxCount: 0, maxAge: 0n, ...limits }, start).excess.map(
      ({ id }) => id,
    )

  it('are the oldest, from the first that breaks a limit', () => {
    assert.deepEqual(excess({}), [])
    assert.deepEqual(excess({ maxCount: 3 }), ['_log_4', '_log_5'])
    assert.deepEqual(excess({ maxTotalSize: 40n }), ['_log_5'])
    assert.deepEqual(excess({ maxAge: BigInt(2 * hour) * 1_000_000n }), ['_log_3', '_log_4', '_log_5'])
    assert.deepEqual(excess({ maxCount: 4, maxTotalSize: 10n }), ['_log_2', '_log_3', '_log_4', '_log_5'])
  })
})
