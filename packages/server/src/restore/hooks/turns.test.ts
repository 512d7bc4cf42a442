import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTurns } from './turns.ts'

const never = new AbortController().signal

describe('Turns', () => {
  it('are taken by no more than allowed at a time, in order', async () => {
    const inTurn = createTurns(2)
    let running = 0
    let highest = 0
    const order: number[] = []
    const run = (number: number) => async () => {
      running += 1
      highest = Math.max(highest, running)
      order.push(number)
      await new Promise(resolve => setImmediate(resolve))
      running -= 1
    }
    await Promise.all([1, 2, 3, 4, 5].map(number => inTurn(run(number), never)))
    assert.equal(highest, 2)
    assert.deepEqual(order, [1, 2, 3, 4, 5])
  })

  it('go on after failures, and after one who did not wait', async () => {
    const inTurn = createTurns(1)
    const first = Promise.withResolvers<void>()
    const impatient = new AbortController()
    const results = Promise.allSettled([
      inTurn(() => first.promise, never),
      inTurn(async () => 'late', impatient.signal),
      inTurn(() => Promise.reject(new Error('no')), never),
      inTurn(async () => 'last', never),
    ])
    impatient.abort(new Error('gone'))
    first.resolve()
    assert.deepEqual(
      (await results).map(result => (result.status === 'fulfilled' ? result.value : String(result.reason))),
      [undefined, 'Error: gone', 'Error: no', 'last'],
    )
  })
})
