import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { done, silentLogger } from '@lateen/kube'
import { BusyKeys, keepingBusy } from './busy-keys.ts'

describe('BusyKeys', () => {
  it('has a key until the last who works on it has ended, well or not', async () => {
    const busy = new BusyKeys()
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const one = busy.during('a', () => first.promise)
    const other = busy.during('a', () => second.promise)
    assert.deepEqual([busy.has('a'), busy.has('b')], [true, false])
    first.reject(new Error('failed'))
    await assert.rejects(one, /failed/)
    assert.equal(busy.has('a'), true)
    second.resolve()
    await other
    assert.equal(busy.has('a'), false)
  })

  it('has the keys that a controller reconciles, from the beginning on', async () => {
    const busy = new BusyKeys()
    const seen: boolean[] = []
    const controller = keepingBusy(
      {
        name: 'any',
        sources: [],
        async reconcile(key) {
          seen.push(busy.has(key))
          return done()
        },
      },
      busy,
    )
    const context = { signal: new AbortController().signal, log: silentLogger, failures: 0 }
    const reconciled = controller.reconcile('a', context)
    assert.equal(busy.has('a'), true)
    assert.deepEqual(await reconciled, done())
    assert.deepEqual([seen, busy.has('a')], [[true], false])
  })
})
