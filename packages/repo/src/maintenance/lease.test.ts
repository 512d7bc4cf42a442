import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type MemoryStorage, memoryStorage } from '../blob/memory.ts'
import { type LeasedRun, readSchedule, type ScheduleStore, scheduleBlobId, takeLease } from './lease.ts'
import { defaultMaintenanceParams } from './params.ts'
import { emptySchedule, type RunRecord } from './schedule.ts'

const minute = 60_000
const ns = (ms: number) => BigInt(ms) * 1_000_000n
const key = new Uint8Array(32)
const params = defaultMaintenanceParams('me@here')
const run: RunRecord = { start: 1n, end: 2n, success: true, error: '', extra: [], unknown: {} }
const leased = async (store: ScheduleStore): Promise<LeasedRun> => {
  return { mode: 'full', params, schedule: await readSchedule(store) }
}

let time = 0
let storage: MemoryStorage
let store: ScheduleStore

beforeEach(() => {
  time = Date.UTC(2026, 0, 1)
  const clock = { now: () => time }
  storage = memoryStorage({ clock })
  store = { storage, key, clock }
})

describe('the lease of a maintainer', () => {
  it('begins with a schedule that puts off everybody who runs when it is due', async () => {
    assert.deepEqual(await readSchedule(store), emptySchedule)
    const lease = await takeLease(store, await leased(store))
    assert.equal(lease.maintenanceStart, time)
    const { nextFull, nextQuick } = await readSchedule(store)
    assert.deepEqual([nextFull, nextQuick], [ns(time + 24 * 60 * minute), ns(time + 60 * minute)])
  })

  it('is lost as soon as anybody else writes the schedule, the same words included', async () => {
    const lease = await takeLease(store, await leased(store))
    await lease.confirm()
    await takeLease(store, await leased(store))
    await assert.rejects(lease.confirm(), { code: 'LOCKED', retryable: true })
  })

  it('is lost when the schedule is deleted', async () => {
    const lease = await takeLease(store, await leased(store))
    await storage.delete(scheduleBlobId)
    await assert.rejects(lease.confirm(), { code: 'LOCKED' })
  })

  it('stays through its own records, which keep the history of others', async () => {
    const first = await takeLease(store, await leased(store))
    await first.record('snapshot-gc', run)
    const second = await takeLease(store, await leased(store))
    await second.record('snapshot-gc', { ...run, start: 5n })
    await second.confirm()
    const { runs } = await readSchedule(store)
    assert.deepEqual(
      runs['snapshot-gc']?.map(({ start }) => start),
      [5n, 1n],
    )
  })

  it('that is lost still records what it did, beside what the other did', async () => {
    const lost = await takeLease(store, await leased(store))
    const other = await takeLease(store, await leased(store))
    await other.record('snapshot-gc', run)
    await lost.record('full-rewrite-contents', run)
    const { runs } = await readSchedule(store)
    assert.deepEqual(new Set(Object.keys(runs)), new Set(['snapshot-gc', 'full-rewrite-contents']))
    await assert.rejects(lost.confirm(), { code: 'LOCKED' })
  })

  it('is renewed while a long run goes on, so that hourly maintenance of others is not due', async () => {
    const lease = await takeLease(store, await leased(store))
    for (let minutes = 0; minutes < 180; minutes += 5) {
      time += 5 * minute
      await lease.keep()
      const { nextQuick } = await readSchedule(store)
      assert.ok(nextQuick > ns(time), `due after ${minutes} minutes`)
    }
  })

  it('is not taken when the clocks differ by more than five minutes, either way', async () => {
    for (const skew of [6 * minute, -6 * minute]) {
      const skewed = { ...store, clock: { now: () => time + skew } }
      await assert.rejects(takeLease(skewed, await leased(store)), { code: 'CLOCK_SKEW' })
    }
    assert.deepEqual(await readSchedule(store), emptySchedule, 'nobody is put off by a wrong clock')
    const near = { ...store, clock: { now: () => time + 4 * minute } }
    await takeLease(near, await leased(store))
  })

  it('records no run during which the clock was set, since later runs count on its times', async () => {
    for (const jump of [6 * minute, -6 * minute]) {
      let skew = 0
      const jumping = { ...store, clock: { now: () => time + skew } }
      const lease = await takeLease(jumping, await leased(store))
      skew = jump
      await assert.rejects(lease.record('snapshot-gc', run), { code: 'CLOCK_SKEW' })
      assert.deepEqual((await readSchedule(store)).runs, {})
    }
  })

  it('is renewed at once when the clock was set back', async () => {
    const lease = await takeLease(store, await leased(store))
    time -= 60 * minute
    await lease.keep()
    assert.equal((await readSchedule(store)).nextQuick, ns(time + 60 * minute))
  })
})
