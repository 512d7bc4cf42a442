import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@lateen/kube'
import { setAlarm } from './alarm.ts'

describe('an alarm', () => {
  it('rings after its time', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await using _alarm = setAlarm({ clock: systemClock, ms: 1, ring: resolve })
    await promise
  })

  it('does not ring once it is disposed, nor without a time, nor at once when its time is longer than a timer holds', async () => {
    let rang = 0
    const ring = () => {
      rang += 1
    }
    const disposed = setAlarm({ clock: systemClock, ms: 5, ring })
    await disposed[Symbol.asyncDispose]()
    await using _never = setAlarm({ clock: systemClock, ms: undefined, ring })
    await using _late = setAlarm({ clock: systemClock, ms: 2 ** 40, ring })
    await delay(20)
    assert.equal(rang, 0)
  })
})
