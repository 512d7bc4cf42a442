import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { goTime } from './go-time.ts'

describe('goTime', () => {
  // What Go prints for time.Parse(RFC3339, …).In(zone).String().
  const cases: [string, string][] = [
    ['UTC', '2026-03-01 08:30:05 +0000 UTC'],
    ['Europe/Berlin', '2026-03-01 09:30:05 +0100 CET'],
    ['America/New_York', '2026-03-01 03:30:05 -0500 EST'],
    ['Asia/Kolkata', '2026-03-01 14:00:05 +0530 IST'],
    ['America/Sao_Paulo', '2026-03-01 05:30:05 -0300 -03'],
  ]
  for (const [zone, text] of cases) {
    it(`prints ${text} in ${zone}`, () => {
      assert.equal(goTime('2026-03-01T08:30:05Z', zone), text)
    })
  }

  it('prints midnight as hour 00', () => {
    assert.equal(goTime('2026-03-01T00:00:00Z', 'UTC'), '2026-03-01 00:00:00 +0000 UTC')
  })

  it('passes on what is no timestamp', () => {
    assert.equal(goTime('soon'), 'soon')
  })
})
