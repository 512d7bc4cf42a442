import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseMode, rescheduled, withFullInterval } from './choose-mode.ts'
import { defaultMaintenanceParams } from './params.ts'
import { emptySchedule } from './schedule.ts'

const hour = 3_600_000_000_000n
const params = defaultMaintenanceParams('me@here')
const schedule = { ...emptySchedule, nextFull: 10n * hour, nextQuick: 5n * hour }
const choose = (hours: bigint, request: Partial<Parameters<typeof chooseMode>[0]> = {}) =>
  chooseMode({ mode: 'auto', identity: 'me@here', ...request }, { params, schedule, now: hours * hour })

describe('the mode of a run', () => {
  it('is full when full is due, quick when only quick is, and none before', () => {
    assert.equal(choose(4n).kind, 'not-due')
    assert.deepEqual(choose(5n), { kind: 'run', mode: 'quick', reason: 'quick is due' })
    assert.deepEqual(choose(10n), { kind: 'run', mode: 'full', reason: 'full is due' })
  })

  it('passes over a cycle that is turned off', () => {
    const off = { ...params, full: { ...params.full, enabled: false } }
    const now = 20n * hour
    const request = { mode: 'auto', identity: 'me@here' } as const
    assert.deepEqual(chooseMode(request, { params: off, schedule, now }), {
      kind: 'run',
      mode: 'quick',
      reason: 'quick is due',
    })
  })

  it('is what was asked for, also when nothing is due', () => {
    assert.deepEqual(choose(0n, { mode: 'full' }), { kind: 'run', mode: 'full', reason: 'asked for' })
  })

  it('is none for anybody but the owner, who is named, unless forced', () => {
    assert.deepEqual(choose(20n, { identity: 'you@there' }), { kind: 'not-owner', owner: 'me@here' })
    assert.deepEqual(choose(20n, { identity: 'you@there', mode: 'full' }).kind, 'not-owner')
    assert.deepEqual(choose(20n, { identity: 'you@there', force: true }).kind, 'run')
  })

  it('is full as soon as a shorter interval has passed since the last full run began', () => {
    const shortened = (nextFull: bigint, now: bigint, after = 6n) => {
      const change = { before: 24n * hour, after: after * hour, now: now * hour }
      return withFullInterval({ ...schedule, nextFull: nextFull * hour }, change).nextFull / hour
    }
    // Each began at 100.
    assert.equal(shortened(124n, 101n), 106n)
    assert.equal(shortened(124n, 120n), 106n)
    assert.equal(shortened(124n, 124n), 124n)
    assert.equal(shortened(124n, 101n, 48n), 124n)
    assert.equal(withFullInterval(emptySchedule, { before: 24n, after: 6n, now: 0n }), emptySchedule)
  })

  it('puts off the next runs by their intervals, quick alone when only quick ran', () => {
    const now = 100n * hour
    const full = rescheduled(schedule, 'full', { params, now })
    assert.deepEqual([full.nextFull, full.nextQuick], [124n * hour, 101n * hour])
    const quick = rescheduled(schedule, 'quick', { params, now })
    assert.deepEqual([quick.nextFull, quick.nextQuick], [10n * hour, 101n * hour])
  })
})
