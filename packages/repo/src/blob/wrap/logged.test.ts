import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../clock/clock.ts'
import { throwIfCancelled } from '../../errors/repo-error.ts'
import { memoryStorage } from '../memory.ts'
import { blobId } from '../storage.ts'
import { faultyStorage } from '../testing/faulty.ts'
import { logged } from './logged.ts'

const pack = blobId('p27455c8fbe90a1b2c3d4e5f607182930-s1')

/** Time passes only by sleeping. */
function simulatedClock(): Clock {
  let time = 1_700_000_000_000
  return {
    now: () => time,
    async sleep(ms, signal) {
      throwIfCancelled(signal)
      time += ms
    },
  }
}

describe('logged', () => {
  it('tells each operation with size, outcome and duration', async () => {
    const lines: object[] = []
    const clock = simulatedClock()
    const inner = faultyStorage(memoryStorage(), { seed: 1, rates: {} })
    const storage = logged(inner, {
      clock,
      log: { debug: (fields, message) => lines.push({ ...fields, message }) },
    })
    await storage.put(pack, [new Uint8Array(3), new Uint8Array(4)])
    await storage.get(pack, { offset: 1, length: 2 })
    await assert.rejects(storage.head(blobId('missing')))
    await Array.fromAsync(storage.list('p'))
    const message = 'blob storage operation'
    assert.deepEqual(lines, [
      { operation: 'put', blobId: pack, bytes: 7, outcome: 'ok', durationMs: 0, message },
      {
        operation: 'get',
        blobId: pack,
        offset: 1,
        length: 2,
        bytes: 2,
        outcome: 'ok',
        durationMs: 0,
        message,
      },
      { operation: 'head', blobId: 'missing', outcome: 'BLOB_NOT_FOUND', durationMs: 0, message },
      { operation: 'list', prefix: 'p', blobs: 1, outcome: 'ok', durationMs: 0, message },
    ])
  })
})
