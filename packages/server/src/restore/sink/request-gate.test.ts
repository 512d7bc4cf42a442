import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Clock, KubeError } from '@lateen/kube'
import { RequestGate } from './request-gate.ts'

/** Time that passes only in sleeps. */
function stillClock(): Clock & { slept: number[] } {
  let now = 0
  const slept: number[] = []
  return {
    slept,
    now: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted()
      slept.push(ms)
      now += ms
    },
  }
}

const refused = new KubeError('TooManyRequests', { message: 'busy', status: 429, retryAfterMs: 3_000 })

describe('The gate before an API server', () => {
  it('lets through no more requests at a time than allowed', async () => {
    const gate = new RequestGate({ clock: stillClock(), most: 3 })
    let underWay = 0
    let highest = 0
    const send = async () => {
      underWay += 1
      highest = Math.max(highest, underWay)
      await new Promise(resolve => setImmediate(resolve))
      underWay -= 1
    }
    await Promise.all(Array.from({ length: 40 }, () => gate.run(send)))
    assert.equal(highest, 3)
    assert.equal(underWay, 0)
  })

  it('lets one after the other through where one is allowed, in the order in which they came', async () => {
    const gate = new RequestGate({ clock: stillClock(), most: 1 })
    const order: number[] = []
    await Promise.all([1, 2, 3, 4].map(number => gate.run(async () => void order.push(number))))
    assert.deepEqual(order, [1, 2, 3, 4])
  })

  it('slows down when the server refuses, and waits as long as it asks', async () => {
    const clock = stillClock()
    const gate = new RequestGate({ clock, most: 32 })
    assert.equal(gate.limit, 8)
    await assert.rejects(
      gate.run(() => Promise.reject(refused)),
      refused,
    )
    assert.equal(gate.limit, 4)
    await gate.run(async () => undefined)
    assert.deepEqual(clock.slept, [3_000])
  })

  it('goes on after requests that failed', async () => {
    const gate = new RequestGate({ clock: stillClock(), most: 1 })
    const results = await Promise.allSettled([
      gate.run(() => Promise.reject(new Error('no'))),
      gate.run(async () => 'yes'),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    )
  })

  it('sends nothing once it was aborted', async () => {
    const gate = new RequestGate({ clock: stillClock(), most: 1 })
    await assert.rejects(
      gate.run(() => Promise.resolve('sent'), AbortSignal.abort(new Error('stopped'))),
      /stopped/,
    )
    assert.equal(await gate.run(async () => 'free'), 'free')
  })
})
