import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from './clock.ts'

describe('the system clock', () => {
  it('does not wake up before the time', async () => {
    const start = systemClock.now()
    await systemClock.sleep(20)
    // Timers may fire up to a millisecond early by the wall clock.
    assert.ok(systemClock.now() - start >= 19)
  })

  it('ends a wait with CANCELLED when the signal is aborted', async () => {
    const controller = new AbortController()
    const waiting = systemClock.sleep(60_000, controller.signal)
    controller.abort()
    await assert.rejects(waiting, { code: 'CANCELLED' })
    await assert.rejects(systemClock.sleep(1, controller.signal), { code: 'CANCELLED' })
  })
})
