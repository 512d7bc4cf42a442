import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { problemOf } from './check-config-maps.ts'

describe('problemOf', () => {
  it('accepts JSON objects only', () => {
    assert.equal(problemOf({ config: '{"loadConcurrency":{"globalConfig":2}}' }), undefined)
    assert.match(problemOf({}) ?? '', /no data/)
    for (const text of ['', 'a: b', '[]', 'null', '{']) {
      assert.match(problemOf({ config: text }) ?? '', /JSON object under "config"/, text)
    }
  })
})
