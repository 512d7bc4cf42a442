import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../clock/clock.ts'
import { RepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import { blobStorageConformance } from '../conformance.ts'
import { memoryStorage } from '../memory.ts'
import { type BlobStorage, blobId } from '../storage.ts'
import { faultyStorage } from '../testing/faulty.ts'
import { logged } from './logged.ts'
import { type Retry, retrying } from './retrying.ts'
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

blobStorageConformance({
  name: 'retrying over throttled over logged',
  open: async () => {
    const clock = simulatedClock()
    const limits = {
      uploadBytesPerSecond: 1e6,
      downloadBytesPerSecond: 1e6,
      concurrentReads: 3,
      concurrentWrites: 2,
    }
    const log = { debug: () => {} }
    const inner = memoryStorage()
    return {
      storage: retrying(throttled(logged(inner, { log }), limits, clock), { clock }),
      reopen: async () => inner,
    }
  },
})

blobStorageConformance({
  name: 'retrying over a storage that fails, times out, throttles, cuts bodies off and loses answers',
  open: async () => {
    const clock = simulatedClock()
    const rates = { failing: 0.1, timingOut: 0.05, throttling: 0.1, cutOff: 0.1, lostAnswer: 0.1 }
    const inner = memoryStorage()
    const storage = retrying(faultyStorage(inner, { seed: 7, rates, clock }), { clock, attempts: 30 })
    return { storage, reopen: async () => inner }
  },
})

describe('retrying', () => {
  it('waits as Kopia does, half of it by chance, and gives up with the last error', async () => {
    const clock = simulatedClock()
    const faulty = faultyStorage(memoryStorage(), { seed: 1, rates: { failing: 1 } })
    for (const [chance, first, last] of [
      [1, 100, 2562.890625],
      [0, 50, 1281.4453125],
    ] as const) {
      const retries: Retry[] = []
      const storage = retrying(faulty, { clock, random: () => chance, onRetry: retry => retries.push(retry) })
      await assert.rejects(storage.get(pack), { code: 'STORAGE_FAILED', message: /the server failed/ })
      assert.deepEqual([retries.length, retries[0]?.delayMs, retries[8]?.delayMs], [9, first, last])
    }
    const waits: number[] = []
    const patient = retrying(faulty, {
      clock,
      attempts: 40,
      random: () => 1,
      onRetry: retry => waits.push(retry.delayMs),
    })
    await assert.rejects(patient.head(pack))
    assert.equal(Math.max(...waits), 32_000)
  })

  for (const code of ['BLOB_NOT_FOUND', 'INVALID_RANGE', 'READ_ONLY', 'STORAGE_FULL', 'CANCELLED'] as const) {
    it(`tells ${code} at once`, async () => {
      const failing: BlobStorage = {
        ...memoryStorage(),
        get: async () => {
          throw new RepoError(code, { message: 'no' })
        },
      }
      const storage = retrying(failing, { onRetry: () => assert.fail('tried again') })
      await assert.rejects(storage.get(pack), { code })
    })
  }

  it('stops waiting when it is cancelled', async () => {
    const stop = new AbortController()
    const faulty = faultyStorage(memoryStorage(), { seed: 1, rates: { failing: 1 } })
    const storage = retrying(faulty, {
      firstDelayMs: 3_600_000,
      maxDelayMs: 3_600_000,
      onRetry: () => setImmediate(() => stop.abort()),
    })
    await assert.rejects(storage.put(pack, new Uint8Array(1), { signal: stop.signal }), { code: 'CANCELLED' })
  })

  it('gives each blob of a listing once, however often the listing breaks', async () => {
    const inner = memoryStorage()
    for (let n = 0; n < 50; n++) await inner.put(blobId(`x${n}`), new Uint8Array(n))
    const faulty = faultyStorage(inner, { seed: 3, rates: { cutOff: 0.9 } })
    const seen = await Array.fromAsync(
      retrying(faulty, { clock: simulatedClock(), attempts: 200 }).list('x'),
      blob => blob.id,
    )
    assert.ok(faulty.faults.length > 0)
    assert.equal(seen.length, 50)
    assert.equal(new Set(seen).size, 50)
  })
})
