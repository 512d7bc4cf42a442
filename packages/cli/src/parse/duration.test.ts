import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDuration } from './duration.ts'

describe('parseDuration', () => {
  // Left: input. Right: what Go's time.ParseDuration(input).String() prints.
  const accepted: [string, string][] = [
    ['0', '0s'],
    ['0s', '0s'],
    ['90s', '1m30s'],
    ['1h', '1h0m0s'],
    ['720h', '720h0m0s'],
    ['1h30m', '1h30m0s'],
    ['1.5h', '1h30m0s'],
    ['-1.5h', '-1h30m0s'],
    ['+5m', '5m0s'],
    ['.5s', '500ms'],
    ['1.s', '1s'],
    ['1500us', '1.5ms'],
    ['1500µs', '1.5ms'],
    ['42ns', '42ns'],
    ['1m0.25s', '1m0.25s'],
    ['2562047h47m16.854775807s', '2562047h47m16.854775807s'],
  ]
  for (const [input, printed] of accepted) {
    it(`reads ${input} as ${printed}`, () => {
      assert.equal(parseDuration(input)?.text, printed)
    })
  }

  for (const input of ['', '1', 'abc', '5 m', '1d', 's', '.s', '--1s', '1h-5m', '1e3s', '2562047h48m']) {
    it(`refuses ${JSON.stringify(input)}`, () => {
      assert.equal(parseDuration(input), undefined)
    })
  }

  it('counts milliseconds', () => {
    assert.equal(parseDuration('1m30.5s')?.milliseconds, 90_500)
  })
})
