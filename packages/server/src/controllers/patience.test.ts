import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@lateen/kube'
import { Patience } from './patience.ts'

describe('patience with what fails', () => {
  it('is over some time after the first failure, and begins anew when something went well between', () => {
    let now = 0
    const patience = new Patience({ clock: { ...systemClock, now: () => now }, patienceMs: 10 })
    assert.equal(patience.lasts('a'), true)
    now = 9
    assert.equal(patience.lasts('a'), true)
    assert.equal(patience.lasts('b'), true)
    now = 10
    assert.equal(patience.lasts('a'), false)
    assert.equal(patience.lasts('b'), true)
    patience.forget('a')
    assert.equal(patience.lasts('a'), true)
  })
})
