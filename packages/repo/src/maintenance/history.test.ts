import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mayDeletePacks, mayRewriteContents, safeDropTime } from './history.ts'
import { safetyFull, safetyNone } from './safety.ts'
import { emptySchedule, type MaintenanceSchedule, type RunRecord } from './schedule.ts'

const minute = 60_000_000_000n
const hour = 60n * minute

function ran(startHours: number, minutes = 0, success = true): RunRecord {
  const start = BigInt(startHours) * hour
  return { start, end: start + BigInt(minutes) * minute, success, error: '', extra: [], unknown: {} }
}

function history(runs: Record<string, RunRecord[]>): MaintenanceSchedule {
  return { ...emptySchedule, runs }
}

describe('the time up to which deleted contents may be dropped', () => {
  const drop = (runs: RunRecord[]) => safeDropTime(runs, safetyFull, 1000n * hour)

  it('is an hour before the start of the last collection that ended over four hours before the newest began', () => {
    assert.equal(drop([ran(50), ran(40, 30), ran(10)]), 39n * hour)
    assert.equal(drop([ran(50), ran(47), ran(45, 59), ran(45)]), 44n * hour)
  })

  it('does not exist after one collection, or two that are too near, or with one that failed', () => {
    assert.equal(drop([]), undefined)
    assert.equal(drop([ran(50)]), undefined)
    assert.equal(drop([ran(50), ran(46)]), undefined)
    assert.equal(drop([ran(50), ran(45, 60)]), undefined)
    assert.equal(drop([ran(50), ran(10, 0, false)]), undefined)
    assert.equal(drop([ran(50, 0, false), ran(10)]), undefined)
  })

  it('does not depend on the order in which runs were recorded', () => {
    assert.equal(drop([ran(10), ran(50), ran(40)]), 39n * hour)
  })

  it('is now when nobody else is there', () => {
    assert.equal(safeDropTime([], safetyNone, 7n), 7n)
  })
})

describe('rewriting and deleting take turns', () => {
  it('packs are not rewritten again before some were deleted', () => {
    assert.equal(mayRewriteContents(emptySchedule, safetyFull).allowed, true)
    const rewritten = { 'full-rewrite-contents': [ran(10, 5)] }
    assert.equal(mayRewriteContents(history(rewritten), safetyFull).allowed, false)
    const failed = { ...rewritten, 'full-delete-blobs': [ran(20, 0, false)] }
    assert.equal(mayRewriteContents(history(failed), safetyFull).allowed, false)
    const deleted = { ...rewritten, 'full-delete-blobs': [ran(20)] }
    assert.equal(mayRewriteContents(history(deleted), safetyFull).allowed, true)
    assert.equal(mayRewriteContents(history(rewritten), safetyNone).allowed, true)
  })

  it('packs are not deleted within an hour of any rewrite', () => {
    const quick = history({ 'quick-rewrite-contents': [ran(10, 30)], 'full-rewrite-contents': [ran(5)] })
    assert.equal(mayDeletePacks(quick, safetyFull, 11n * hour).allowed, false)
    assert.equal(mayDeletePacks(quick, safetyFull, 11n * hour + 30n * minute).allowed, true)
    assert.equal(mayDeletePacks(emptySchedule, safetyFull, 0n).allowed, true)
  })
})
