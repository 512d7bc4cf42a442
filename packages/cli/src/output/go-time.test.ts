import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
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

describe('goTime in the local zone', () => {
  const before = process.env.TZ
  afterEach(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
  const zones = [
    ...[
      'UTC',
      'Europe/Berlin',
      'Europe/London',
      'Europe/Lisbon',
      'Europe/Dublin',
      'Africa/Abidjan',
      'Atlantic/Reykjavik',
    ],
    ...[
      'America/New_York',
      'America/St_Johns',
      'Asia/Kolkata',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    ],
  ]
  for (const zone of zones) {
    it(`says the same as when ${zone} is named`, async () => {
      process.env.TZ = zone
      // A copy of its own: a process has one zone, and the module remembers it.
      const { goTime } = (await import(`./go-time.ts?${zone}`)) as typeof import('./go-time.ts')
      for (const time of [
        '2026-01-15T23:30:05Z',
        '2026-07-01T00:00:00Z',
        '2024-02-29T12:00:59Z',
        '1999-12-31T23:59:59Z',
      ]) {
        assert.equal(goTime(time), goTime(time, zone), time)
      }
    })
  }
})
