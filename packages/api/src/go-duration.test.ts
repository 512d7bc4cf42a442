import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { durationMilliseconds, formatGoDuration, goDurationOf, parseGoDuration } from './go-duration.ts'

// From time.ParseDuration and Duration.String of Go 1.26: text, nanoseconds, what Go writes for them.
const fromGo: readonly [string, bigint, string][] = [
  ['0', 0n, '0s'],
  ['0s', 0n, '0s'],
  ['-0', 0n, '0s'],
  ['+5s', 5000000000n, '5s'],
  ['720h0m0s', 2592000000000000n, '720h0m0s'],
  ['1.5h', 5400000000000n, '1h30m0s'],
  ['100ms', 100000000n, '100ms'],
  ['1h0m0.5s', 3600500000000n, '1h0m0.5s'],
  ['-1m30s', -90000000000n, '-1m30s'],
  ['1us', 1000n, '1µs'],
  ['1\u00b5s', 1000n, '1µs'],
  ['1\u03bcs', 1000n, '1µs'],
  ['1ns', 1n, '1ns'],
  ['1.0000001s', 1000000100n, '1.0000001s'],
  ['1m0.001s', 60001000000n, '1m0.001s'],
  ['.5s', 500000000n, '500ms'],
  ['5.s', 5000000000n, '5s'],
  ['2562047h47m16.854775807s', 9223372036854775807n, '2562047h47m16.854775807s'],
  ['-2562047h47m16.854775808s', -9223372036854775808n, '-2562047h47m16.854775808s'],
  ['1h1h', 7200000000000n, '2h0m0s'],
  ['3.000000001ms', 3000000n, '3ms'],
  ['999.999ms', 999999000n, '999.999ms'],
  ['1500us', 1500000n, '1.5ms'],
  ['10m', 600000000000n, '10m0s'],
  ['0.3333333333333333333h', 1200000000000n, '20m0s'],
  ['-.5ms', -500000n, '-500µs'],
  ['59.999999999s', 59999999999n, '59.999999999s'],
]

// What time.ParseDuration of Go 1.26 refuses.
const refusedByGo = [
  '9223372036854775808ns',
  '',
  's',
  '.s',
  '-',
  '1',
  '1 s',
  '1d',
  '1h-1m',
  '1hm',
  '++1s',
  '3.4.5s',
  '10M',
  ' 1s',
  '1s ',
]

describe('Go durations', () => {
  for (const [text, nanoseconds, written] of fromGo) {
    it(`${text} is read and written as Go does`, () => {
      assert.equal(parseGoDuration(text), nanoseconds)
      assert.equal(formatGoDuration(nanoseconds), written)
    })
  }

  for (const text of refusedByGo) {
    it(`'${text}' is refused as Go refuses it`, () => {
      assert.throws(() => parseGoDuration(text), { name: 'InvalidTextError', code: 'INVALID_DURATION' })
    })
  }

  it('survive being written and read, to the nanosecond', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), nanoseconds => {
        assert.equal(parseGoDuration(formatGoDuration(nanoseconds)), nanoseconds)
      }),
    )
  })

  it('of endless text are refused with a message that stays short', () => {
    assert.throws(
      () => parseGoDuration('1h'.repeat(1_000_000)),
      (error: Error) => error.message.length < 400,
    )
  })

  it('become milliseconds, or nothing when there is none', () => {
    assert.equal(durationMilliseconds('1m0.5s'), 60_500)
    assert.equal(durationMilliseconds('0s'), 0)
    for (const none of [undefined, null, '']) assert.equal(durationMilliseconds(none), undefined)
  })

  it('are made from milliseconds', () => {
    assert.equal(goDurationOf(600_000), '10m0s')
    assert.equal(goDurationOf(0.5), '500µs')
    assert.equal(goDurationOf(-1), '-1ms')
  })
})
