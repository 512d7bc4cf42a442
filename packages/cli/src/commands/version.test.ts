import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { whichIsBehind } from './version.ts'

describe('whichIsBehind', () => {
  it('compares major and minor versions only', () => {
    assert.equal(whichIsBehind('v1.18.3', 'v1.18.0'), undefined)
    assert.equal(whichIsBehind('v1.18.3', 'v1.9.0'), 'server')
    assert.equal(whichIsBehind('v1.9.3', 'v1.18.0'), 'client')
    assert.equal(whichIsBehind('v2.0.0', 'v1.18.0'), 'server')
  })

  it('takes a version it cannot read for a newer one', () => {
    assert.equal(whichIsBehind('v1.18.3', 'main'), 'client')
  })
})
