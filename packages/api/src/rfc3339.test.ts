import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatTime, parseTime } from './rfc3339.ts'

// From time.Parse(time.RFC3339) of Go 1.26: text, milliseconds, the same moment in UTC and whole seconds.
const fromGo: readonly [string, number, string][] = [
  ['2026-01-02T03:04:05Z', 1767323045000, '2026-01-02T03:04:05Z'],
  ['2026-01-02T03:04:05.123456789Z', 1767323045123, '2026-01-02T03:04:05Z'],
  ['2026-01-02T03:04:05+02:00', 1767315845000, '2026-01-02T01:04:05Z'],
  ['2024-02-29T23:59:59-11:30', 1709292599000, '2024-03-01T11:29:59Z'],
]

// What time.Parse(time.RFC3339) of Go 1.26 refuses.
const refusedByGo = [
  '2026-02-29T00:00:00Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:04:60Z',
  '2026-01-02 03:04:05Z',
  '2026-01-02T03:04:05',
  '2026-1-2T03:04:05Z',
  '2026-01-02T03:04Z',
  'now',
  '',
]

describe('RFC 3339 times', () => {
  for (const [text, milliseconds, written] of fromGo) {
    it(`${text} is read and written as Go does`, () => {
      assert.equal(parseTime(text), milliseconds)
      assert.equal(formatTime(milliseconds), written)
    })
  }

  for (const text of refusedByGo) {
    it(`'${text}' is refused as Go refuses it`, () => {
      assert.throws(() => parseTime(text), { name: 'InvalidTextError', code: 'INVALID_TIME' })
    })
  }

  it('survive being written and read, to the second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), seconds => {
        assert.equal(parseTime(formatTime(seconds * 1000)), seconds * 1000)
      }),
    )
  })
})
