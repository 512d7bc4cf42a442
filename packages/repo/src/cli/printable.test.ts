import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { printable, printBytes, printDuration, printTime } from './printable.ts'

describe('what is printed', () => {
  it('lets no name command the terminal', () => {
    assert.equal(printable('a\x1b[2Jb\nc\u2028\ud800'), 'a\\u001b[2Jb\\u000ac\\u2028\\ud800')
    assert.equal(printable('Grüße 🦊.txt'), 'Grüße 🦊.txt')
  })

  it('counts bytes in units of 1024', () => {
    assert.deepEqual([0, 1023, 1024, 1536, 20 * 2 ** 20, 2 ** 60].map(printBytes), [
      '0 B',
      '1023 B',
      '1.0 KiB',
      '1.5 KiB',
      '20.0 MiB',
      '1024.0 PiB',
    ])
  })

  it('tells times in UTC and spans in two units', () => {
    assert.equal(printTime(Date.UTC(2026, 10, 15, 1, 2, 3)), '2026-11-15 01:02:03 UTC')
    assert.deepEqual([4_400, 125_000, 3 * 3_600_000 + 61_000].map(printDuration), [
      '4 s',
      '2 min 5 s',
      '3 h 1 min',
    ])
  })
})
