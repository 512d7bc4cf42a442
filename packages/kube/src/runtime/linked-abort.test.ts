import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import { LinkedAbort } from './linked-abort.ts'

describe('LinkedAbort', () => {
  it('aborts with the reason of whichever parent aborts first', () => {
    const [first, second] = [new AbortController(), new AbortController()]
    using linked = new LinkedAbort(first.signal, second.signal)
    second.abort('second')
    first.abort('first')
    assert.equal(linked.signal.reason, 'second')
  })

  it('is aborted from the start when a parent is', () => {
    using linked = new LinkedAbort(AbortSignal.abort('before'))
    assert.equal(linked.signal.reason, 'before')
  })

  it('leaves its parents alone when it aborts', () => {
    const parent = new AbortController()
    using linked = new LinkedAbort(parent.signal)
    linked.abort()
    assert.equal(parent.signal.aborted, false)
  })

  it('leaves no listener on its parents once disposed', () => {
    const parent = new AbortController()
    for (let i = 0; i < 100; i++) {
      using _linked = new LinkedAbort(parent.signal)
    }
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
  })
})
