import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDuration } from './duration.ts'

describe('parseDuration', () => {
  it('keeps the value, its milliseconds and the notation of Go', () => {
    assert.deepEqual(parseDuration('90.5s'), {
      nanoseconds: 90_500_000_000n,
      milliseconds: 90_500,
      text: '1m30.5s',
    })
  })

  for (const input of ['', '1', 'abc', '5 m', '1d']) {
    it(`refuses ${JSON.stringify(input)}`, () => {
      assert.equal(parseDuration(input), undefined)
    })
  }
})
