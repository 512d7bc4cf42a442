import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FencedError } from '../fence.ts'
import { LeaseFence, steadyNow } from './lease-fence.ts'

function fenceAt(start: number) {
  const time = { now: start }
  return { time, fence: new LeaseFence(() => time.now) }
}

const isFenced = (error: unknown) => error instanceof FencedError && error.message.includes('delete a pod')

describe('LeaseFence', () => {
  it('is closed before the lease is ours', () => {
    const { fence } = fenceAt(0)
    assert.equal(fence.holds, false)
    assert.throws(() => fence.check('delete a pod'), isFenced)
  })

  it('is open up to the deadline, and not at it', () => {
    const { fence, time } = fenceAt(100)
    assert.equal(fence.hold(110), true)
    time.now = 109.9
    fence.check('delete a pod')
    time.now = 110
    assert.throws(() => fence.check('delete a pod'), isFenced)
  })

  it('stays open when renewed in time', () => {
    const { fence, time } = fenceAt(100)
    fence.hold(110)
    time.now = 105
    assert.equal(fence.hold(115), true)
    time.now = 112
    assert.equal(fence.holds, true)
  })

  it('is not shortened by an answer that comes late', () => {
    const { fence, time } = fenceAt(100)
    fence.hold(115)
    assert.equal(fence.hold(110), true)
    time.now = 112
    assert.equal(fence.holds, true)
  })

  it('stays closed once the deadline has passed, though the lease is renewed after that', () => {
    const { fence, time } = fenceAt(100)
    fence.hold(110)
    time.now = 111
    assert.equal(fence.hold(121), false)
    assert.equal(fence.holds, false)
  })

  it('does not open by an answer whose deadline has passed, and opens by the next one', () => {
    const { fence, time } = fenceAt(100)
    time.now = 130
    assert.equal(fence.hold(110), false)
    assert.equal(fence.hold(140), true)
    assert.equal(fence.holds, true)
  })

  it('may still open when a lease was lost that had not been held', () => {
    const { fence } = fenceAt(100)
    fence.close()
    assert.equal(fence.holds, false)
    assert.equal(fence.hold(110), true)
  })

  it('stays closed once closed', () => {
    const { fence } = fenceAt(100)
    fence.hold(110)
    fence.close()
    assert.equal(fence.hold(120), false)
    assert.throws(() => fence.check('delete a pod'), isFenced)
  })
})

describe('steadyNow', () => {
  it('does not go back', () => {
    let last = steadyNow()
    for (let count = 0; count < 10_000; count++) {
      const now = steadyNow()
      assert.ok(now >= last, `${now} after ${last}`)
      last = now
    }
  })
})
