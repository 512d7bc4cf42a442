import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatGoTime, goTimeFromMillis, goTimeToMillis, parseGoTime } from './go-time.ts'

describe('a Go time', () => {
  it('drops trailing zeros of the fraction, and the fraction when it is zero', () => {
    assert.equal(formatGoTime(0n), '1970-01-01T00:00:00Z')
    assert.equal(formatGoTime(1_700_000_000_120_000_000n), '2023-11-14T22:13:20.12Z')
    assert.equal(formatGoTime(1_700_000_000_000_000_001n), '2023-11-14T22:13:20.000000001Z')
  })

  it('reaches back to the zero time that Go squeezes into 64 bits', () => {
    // The smallest 64-bit count of nanoseconds that Go's zero time wraps to.
    assert.equal(formatGoTime(-6795364578871345152n), '1754-08-30T22:43:41.128654848Z')
    assert.equal(parseGoTime('1754-08-30T22:43:41.128654848Z'), -6795364578871345152n)
    assert.equal(parseGoTime('0001-01-01T00:00:00Z'), -62135596800n * 1_000_000_000n)
  })

  it('may have an offset and any number of digits', () => {
    assert.equal(parseGoTime('2023-11-15T00:13:20.5+02:00'), 1_700_000_000_500_000_000n)
    assert.equal(parseGoTime('2023-11-14T17:13:20.1234567899-05:00'), 1_700_000_000_123_456_789n)
  })

  it('comes back from its text', () => {
    const years0to9999 = fc.bigInt({ min: -62167219200n * 10n ** 9n, max: 253402300799n * 10n ** 9n })
    fc.assert(fc.property(years0to9999, time => assert.equal(parseGoTime(formatGoTime(time)), time)))
  })

  it('is refused in any other form', () => {
    for (const text of [
      '',
      'yesterday',
      '2023-02-30T00:00:00Z',
      '2023-01-01T24:00:00Z',
      '2023-01-01T00:00:00',
      '2023-13-01T00:00:00Z',
      '2023-01-01T00:00:00.Z',
    ]) {
      assert.throws(() => parseGoTime(text), { code: 'CORRUPT' }, text)
    }
  })

  it('is refused outside the years that have four digits', () => {
    assert.throws(() => formatGoTime(253402300800n * 10n ** 9n), { code: 'INVALID_ARGUMENT' })
    assert.throws(() => formatGoTime(10n ** 30n), { code: 'INVALID_ARGUMENT' })
  })

  it('turns into milliseconds by rounding down', () => {
    assert.equal(goTimeToMillis(-1n), -1)
    assert.equal(goTimeToMillis(goTimeFromMillis(1_700_000_000_123)), 1_700_000_000_123)
  })
})
