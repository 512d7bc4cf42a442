import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from './clock.ts'

describe('the clock', () => {
  for (const ms of [2 ** 31 - 1, 2 ** 31, 90 * 86_400_000]) {
    it(`sleeps for ${ms} ms without waking at once`, async () => {
      const awake = new AbortController()
      const slept = systemClock.sleep(ms, awake.signal).then(
        () => 'awake',
        (error: unknown) => error,
      )
      assert.equal(await Promise.race([slept, setTimeout(50, 'asleep')]), 'asleep')
      const reason = new Error('enough')
      awake.abort(reason)
      assert.equal(await slept, reason)
    })
  }
})
