import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../clock/clock.ts'
import { throwIfCancelled } from '../../errors/repo-error.ts'
import { memoryStorage } from '../memory.ts'
import { type BlobStorage, blobId } from '../storage.ts'
import { throttled } from './throttled.ts'

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

describe('throttled', () => {
  it('keeps uploads and downloads to their rates', async () => {
    const clock = simulatedClock()
    const storage = throttled(
      memoryStorage(),
      { uploadBytesPerSecond: 1000, downloadBytesPerSecond: 500 },
      clock,
    )
    const start = clock.now()
    for (let n = 0; n < 10; n++) await storage.put(pack, new Uint8Array(2000))
    // The bucket holds a second's worth, and the last upload's debt is not yet due.
    assert.equal(clock.now() - start, 17_000)
    const middle = clock.now()
    for (let n = 0; n < 5; n++) await storage.get(pack)
    assert.equal(clock.now() - middle, 15_000)
    for (let n = 0; n < 5; n++) await storage.get(pack, { offset: 0, length: 500 })
    assert.equal(clock.now() - middle, 15_000 + 4000 + 4000)
  })

  it('lets no more than so many in at a time, in their order, and lets go who gives up', async () => {
    const gates: (() => void)[] = []
    const started: string[] = []
    const slow: BlobStorage = {
      ...memoryStorage(),
      async get(id) {
        started.push(id)
        await new Promise<void>(resolve => gates.push(resolve))
        return new Uint8Array()
      },
    }
    const storage = throttled(slow, { concurrentReads: 2 })
    const stop = new AbortController()
    const ids = ['a', 'b', 'c', 'd', 'e'].map(blobId)
    const reads = ids.map(id => storage.get(id, id === 'c' ? { signal: stop.signal } : {}))
    stop.abort()
    await assert.rejects(reads[2] ?? Promise.resolve(), { code: 'CANCELLED' })
    assert.deepEqual(started, ['a', 'b'])
    gates.shift()?.()
    await reads[0]
    await new Promise(setImmediate)
    assert.deepEqual(started, ['a', 'b', 'd'])
    while (started.length < 4 || gates.length > 0) {
      gates.shift()?.()
      await new Promise(setImmediate)
    }
    await Promise.all(reads.filter((_, n) => n !== 2))
    assert.deepEqual(started, ['a', 'b', 'd', 'e'])
  })
})
