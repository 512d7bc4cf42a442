import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkLease } from './leadership.ts'
import { serverDefaults } from './server-options.ts'

describe('checkLease', () => {
  const times = (duration: number, renewDeadline: number, retryPeriod: number) => () =>
    checkLease({ duration, renewDeadline, retryPeriod })

  it('takes the defaults, and shorter ones in the same order', () => {
    checkLease(serverDefaults.lease)
    times(1_000, 500, 250)()
  })

  it('refuses times with which two servers could lead, or a lost answer would end the leader', () => {
    assert.throws(times(10_000, 10_000, 2_000), /renew-deadline to less than the lease lasts/)
    assert.throws(times(15_000, 10_000, 6_000), /half of the deadline/)
    assert.throws(times(15_000, 10_000, 0), /half of the deadline/)
    assert.throws(times(0, 0, 0), /from 1s to 1h/)
    assert.throws(times(15_000, -1, 1), /within -1 ms/)
  })
})
