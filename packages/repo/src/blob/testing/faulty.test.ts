import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../clock/clock.ts'
import { isRepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import { memoryStorage } from '../memory.ts'
import { blobId } from '../storage.ts'
import { faultyStorage, seededRandom } from './faulty.ts'

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

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

describe('the faulty storage', () => {
  async function run(seed: number): Promise<string[]> {
    const rates = {
      failing: 0.2,
      throttling: 0.1,
      timingOut: 0.1,
      cutOff: 0.1,
      halfBody: 0.1,
      lostAnswer: 0.2,
      staleList: 0.5,
    }
    const storage = faultyStorage(memoryStorage(), { seed, rates, clock: simulatedClock() })
    const told: string[] = []
    const tell = (act: Promise<unknown>) =>
      act.then(
        () => told.push('ok'),
        error => told.push(isRepoError(error) ? error.message : 'bug'),
      )
    for (let n = 0; n < 40; n++) {
      const id = blobId(`p${n % 5}`)
      await tell(storage.put(id, new Uint8Array(100)))
      await tell(storage.get(id))
      await tell(Array.fromAsync(storage.list('')))
      await tell(storage.delete(id))
    }
    return [...told, ...storage.faults.map(fault => `${fault.kind} ${fault.operation} ${fault.subject}`)]
  }

  it('goes wrong the same way for the same seed', async () => {
    assert.deepEqual(await run(11), await run(11))
    assert.notDeepEqual(await run(11), await run(12))
  })

  it('has every fault it was given', async () => {
    const seen = (await run(11)).join('\n')
    for (const kind of [
      'failing',
      'throttling',
      'timingOut',
      'cutOff',
      'halfBody',
      'lostAnswer',
      'staleList',
    ]) {
      assert.match(seen, new RegExp(`^${kind} `, 'm'))
    }
    assert.doesNotMatch(seen, /bug/)
  })

  it('loses an answer after the change was made, and lists stale names', async () => {
    const inner = memoryStorage()
    const storage = faultyStorage(inner, { seed: 1, rates: { lostAnswer: 1 } })
    await assert.rejects(storage.put(pack, Buffer.from('x')), { retryable: true })
    assert.equal(text(await inner.get(pack)), 'x')
    storage.rates.lostAnswer = 0
    storage.rates.staleList = 1
    assert.deepEqual(await Array.fromAsync(storage.list('')), [])
    await storage.delete(pack)
    assert.deepEqual(await Array.fromAsync(storage.list(''), blob => blob.id), [pack])
  })

  it('has a generator that spreads evenly', () => {
    const random = seededRandom(5)
    const counts = new Array(10).fill(0)
    for (let n = 0; n < 10_000; n++) counts[Math.floor(random() * 10)]++
    for (const count of counts) assert.ok(count > 800 && count < 1200)
  })
})
