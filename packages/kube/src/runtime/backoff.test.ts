import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { backoffDelay } from './backoff.ts'

const backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 }

describe('backoffDelay', () => {
  it('doubles with every failure when chance is zero', () => {
    const delays = [1, 2, 3, 4].map(failures => backoffDelay(backoff, failures, () => 0))
    assert.deepEqual(delays, [100, 200, 400, 800])
  })

  it('takes at most the jitter share away', () => {
    assert.equal(
      backoffDelay(backoff, 3, () => 0.999_999),
      200,
    )
  })

  it('stays within half the step and the maximum for any failure count', () => {
    const failures = fc.integer({ min: 1, max: 5_000 })
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true })
    fc.assert(
      fc.property(failures, chance, (count, random) => {
        const delay = backoffDelay(backoff, count, () => random)
        assert.ok(delay >= 50 && delay <= 5_000, `${delay}`)
      }),
    )
  })
})
