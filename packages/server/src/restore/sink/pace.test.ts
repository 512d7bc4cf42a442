import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { nextPace, type Pace, type PaceEvent, startPace } from './pace.ts'

const most = 64

function after(pace: Pace, ...events: PaceEvent[]): Pace {
  return events.reduce((now, event) => nextPace(now, event, most), pace)
}

function answers(count: number, ms: number): PaceEvent[] {
  return Array.from({ length: count }, () => ({ kind: 'answered', ms }))
}

describe('The pace of requests', () => {
  it('doubles with every round of quick answers, up to the most that is allowed', () => {
    const start = startPace(most)
    assert.equal(start.limit, 8)
    assert.equal(after(start, ...answers(8, 5)).limit, 16)
    assert.equal(after(start, ...answers(8 + 16 + 32, 5)).limit, 64)
    assert.equal(after(start, ...answers(1000, 5)).limit, 64)
  })

  it('halves when the server refuses, once for all requests that were under way', () => {
    const fast = after(startPace(most), ...answers(56, 5))
    const refused: PaceEvent[] = Array.from({ length: 64 }, () => ({ kind: 'refused' }))
    const slower = after(fast, ...refused)
    assert.equal(slower.limit, 32)
    assert.equal(after(slower, ...answers(63, 5), { kind: 'refused' }).limit, 33)
    assert.equal(after(slower, ...answers(64, 5), { kind: 'refused' }).limit, 16)
  })

  it('grows by one per round after it was slowed down', () => {
    const slowed = after(startPace(most), { kind: 'refused' })
    assert.equal(slowed.limit, 4)
    assert.equal(after(slowed, ...answers(4, 5)).limit, 5)
    assert.equal(after(slowed, ...answers(9, 5)).limit, 6)
  })

  it('shrinks when answers take several times as long as they did', () => {
    const fast = after(startPace(most), ...answers(8, 60))
    assert.equal(fast.limit, 16)
    assert.equal(after(fast, ...answers(16, 500)).limit, 12)
  })

  it('takes a server that is always slow as it is', () => {
    assert.equal(after(startPace(most), ...answers(1000, 800)).limit, 64)
  })

  it('stays between one and the most, whatever happens', () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('answered' as const), ms: fc.double({ min: 0, max: 1e5, noNaN: true }) }),
      fc.constant<PaceEvent>({ kind: 'refused' }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(event, { maxLength: 400 }), (limit, events) => {
        let pace = startPace(limit)
        for (const each of events) {
          pace = nextPace(pace, each, limit)
          assert.ok(pace.limit >= 1 && pace.limit <= limit && Number.isInteger(pace.limit))
        }
      }),
    )
  })

  it('never allows more than one where one is the most', () => {
    const one = startPace(1)
    assert.equal(nextPace(one, { kind: 'answered', ms: 1 }, 1).limit, 1)
  })
})
