import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  decideLease,
  type LeaseSpec,
  observeLease,
  releasedLease,
  renewedLease,
  takenLease,
} from './lease.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const claim = { identity: 'me', leaseDurationMs: 15_000, now }
const held: LeaseSpec = {
  holderIdentity: 'other',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-01T00:00:00.000000Z',
  renewTime: '2026-01-01T00:00:10.000000Z',
  leaseTransitions: 4,
}
const seenFor = (unchangedMs: number) => ({ fingerprint: '', unchangedMs })

describe('decideLease', () => {
  it("waits while another's lease was seen changing within its duration", () => {
    assert.deepEqual(decideLease(held, 'me', seenFor(14_999)), { type: 'wait', holder: 'other' })
  })

  it("takes another's lease that was not seen changing for its whole duration", () => {
    assert.deepEqual(decideLease(held, 'me', seenFor(15_000)), { type: 'take' })
  })

  it('measures by the duration the holder promised, not by ours', () => {
    const long = { ...held, leaseDurationSeconds: 60 }
    assert.deepEqual(decideLease(long, 'me', seenFor(15_000)), { type: 'wait', holder: 'other' })
  })

  it('takes a released lease at once', () => {
    assert.deepEqual(decideLease(releasedLease(held, now), 'me', seenFor(0)), { type: 'take' })
    const asGoWrites = { ...held, holderIdentity: '', leaseDurationSeconds: 1 }
    assert.deepEqual(decideLease(asGoWrites, 'me', seenFor(0)), { type: 'take' })
    assert.deepEqual(decideLease({}, 'me', seenFor(0)), { type: 'take' })
  })

  it('waits for the end of a lease that was taken from its holder by hand', () => {
    const taken = { ...held, holderIdentity: '' }
    assert.deepEqual(decideLease(taken, 'me', seenFor(14_999)), { type: 'wait', holder: '' })
    assert.deepEqual(decideLease(taken, 'me', seenFor(15_000)), { type: 'take' })
  })

  it('renews its own lease however old it is', () => {
    assert.deepEqual(decideLease({ ...held, holderIdentity: 'me' }, 'me', seenFor(900_000)), {
      type: 'renew',
    })
  })
})

describe('observeLease', () => {
  it('adds up the time in which the holder did not renew', () => {
    const first = observeLease(undefined, held, 0)
    const third = observeLease(observeLease(first, held, 2_000), held, 3_000)
    assert.equal(third.unchangedMs, 5_000)
  })

  it('starts again when the holder renewed, whatever time it wrote', () => {
    const old = observeLease(observeLease(undefined, held, 0), held, 9_000)
    const skewed = { ...held, renewTime: '1999-01-01T00:00:00.000000Z' }
    assert.equal(observeLease(old, skewed, 2_000).unchangedMs, 0)
  })

  it('counts nothing before the first look, however old the written times are', () => {
    assert.equal(observeLease(undefined, held, 0).unchangedMs, 0)
  })
})

describe('lease specs', () => {
  it('count a transition when another is taken over from', () => {
    assert.equal(takenLease(held, claim).leaseTransitions, 5)
    assert.equal(takenLease(undefined, claim).leaseTransitions, 0)
  })

  it('keep acquire time and transitions when renewed', () => {
    const renewed = renewedLease(takenLease(held, claim), { ...claim, now: now + 2_000 })
    assert.equal(renewed.acquireTime, '2026-01-02T03:04:05.678000Z')
    assert.equal(renewed.renewTime, '2026-01-02T03:04:07.678000Z')
    assert.equal(renewed.leaseTransitions, 5)
  })

  it('name no holder once released', () => {
    assert.equal('holderIdentity' in releasedLease(held, now), false)
  })
})
