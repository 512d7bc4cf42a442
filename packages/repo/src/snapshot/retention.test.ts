import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseGoTime } from '../go-json/go-time.ts'
import { expiredSnapshots, type RetainedSnapshot, retentionReasons } from './retention.ts'

function snapshot(time: string, fields: Partial<RetainedSnapshot> = {}): RetainedSnapshot {
  return { id: time, startTime: parseGoTime(time), pins: [], ...fields }
}

const nothing = { keepLatest: 0, keepHourly: 0, keepDaily: 0, keepWeekly: 0, keepMonthly: 0, keepAnnual: 0 }

describe('retention', () => {
  it('keeps the latest ones', () => {
    const snapshots = ['2026-01-01T10:00:00Z', '2026-01-01T11:00:00Z', '2026-01-01T12:00:00Z'].map(time =>
      snapshot(time),
    )
    assert.deepEqual(expiredSnapshots({ ...nothing, keepLatest: 2 }, snapshots), ['2026-01-01T10:00:00Z'])
  })

  it('keeps the newest of each day, week, month and year within the counts', () => {
    const times = [
      '2026-03-15T23:00:00Z',
      '2026-03-15T01:00:00Z',
      '2026-03-14T01:00:00Z',
      '2026-03-09T01:00:00Z',
      '2026-03-08T01:00:00Z',
      '2026-02-28T01:00:00Z',
      '2025-03-15T01:00:00Z',
    ]
    const kept = retentionReasons(
      { ...nothing, keepDaily: 2, keepWeekly: 2, keepMonthly: 2, keepAnnual: 1 },
      times.map(time => snapshot(time)),
    )
    assert.deepEqual(
      times.map(time => kept.get(time)),
      [
        ['daily-1', 'weekly-1', 'monthly-1', 'annual-1'],
        [],
        ['daily-2'],
        [],
        ['weekly-2'],
        ['monthly-2'],
        [],
      ],
    )
  })

  it('counts weeks as ISO 8601 does, over the turn of the year', () => {
    const times = [
      '2021-01-04T00:00:00Z',
      '2021-01-03T00:00:00Z',
      '2020-12-28T00:00:00Z',
      '2020-12-27T00:00:00Z',
    ]
    const kept = retentionReasons(
      { ...nothing, keepWeekly: 9 },
      times.map(time => snapshot(time)),
    )
    assert.deepEqual(
      times.map(time => kept.get(time)),
      [['weekly-1'], ['weekly-2'], [], ['weekly-3']],
    )
  })

  it('keeps everything when all counts are zero, and whatever is pinned', () => {
    const snapshots = [snapshot('2026-01-02T00:00:00Z'), snapshot('2026-01-01T00:00:00Z')]
    assert.deepEqual(expiredSnapshots(nothing, snapshots), [])
    const pinned = [
      snapshot('2026-01-02T00:00:00Z'),
      snapshot('2026-01-01T00:00:00Z', { pins: ['velero-pin'] }),
    ]
    assert.deepEqual(expiredSnapshots({ ...nothing, keepLatest: 1 }, pinned), [])
  })

  it('keeps incomplete snapshots only while no complete one is newer, the young ones and at least three', () => {
    const incomplete = { incomplete: 'checkpoint' }
    const snapshots = [
      snapshot('2026-01-03T10:00:00Z', incomplete),
      snapshot('2026-01-03T07:00:00Z', incomplete),
      snapshot('2026-01-03T01:00:00Z', incomplete),
      snapshot('2026-01-03T00:00:00Z', incomplete),
      snapshot('2026-01-02T00:00:00Z'),
      snapshot('2026-01-01T00:00:00Z', incomplete),
    ]
    assert.deepEqual(expiredSnapshots({ keepLatest: 5 }, snapshots), [
      '2026-01-03T00:00:00Z',
      '2026-01-01T00:00:00Z',
    ])
  })

  it('keeps all of Velero', () => {
    const max = 2147483647
    const policy = {
      keepLatest: max,
      keepHourly: max,
      keepDaily: max,
      keepWeekly: max,
      keepMonthly: max,
      keepAnnual: max,
    }
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 4_000_000_000 }), { maxLength: 20 })
    fc.assert(
      fc.property(times, seconds => {
        const snapshots = seconds.map(second => ({
          id: `${second}`,
          startTime: BigInt(second) * 1_000_000_000n,
          pins: [],
        }))
        assert.deepEqual(expiredSnapshots(policy, snapshots), [])
      }),
    )
  })

  it('never expires the newest complete snapshot when one of the counts is not zero', () => {
    const counts = fc.record({
      keepLatest: fc.nat(2),
      keepHourly: fc.nat(2),
      keepDaily: fc.nat(2),
      keepWeekly: fc.nat(2),
      keepMonthly: fc.nat(2),
      keepAnnual: fc.nat(2),
    })
    const times = fc.uniqueArray(fc.integer({ min: 1, max: 4_000_000_000 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(counts, times, (policy, seconds) => {
        const snapshots = seconds.map(second => ({
          id: `${second}`,
          startTime: BigInt(second) * 1_000_000_000n,
          pins: [],
        }))
        assert.ok(!expiredSnapshots(policy, snapshots).includes(`${Math.max(...seconds)}`))
      }),
    )
  })
})
