import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nextAttemptAfter } from './next-attempt.ts'

describe('the next attempt to delete a backup', () => {
  const hour = 3_600_000
  const after = (count: number, now = 0, random = 0) =>
    nextAttemptAfter({ count, requestedAt: 0, now, random })

  it('comes after a second, then after twice as long each time, at the most after five minutes', () => {
    assert.deepEqual(
      [1, 2, 3, 9, 10, 1_000].map(count => after(count)),
      [1_000, 2_000, 4_000, 256_000, 300_000, 300_000],
    )
    assert.equal(after(1, 0, 1), 750)
  })

  it('is not made once the request is four hours old', () => {
    assert.equal(after(50, 4 * hour - 1), 300_000)
    assert.equal(after(1, 4 * hour), undefined)
  })

  it('is made when the clock was put back', () => {
    assert.equal(after(1, -hour), 1_000)
  })
})
