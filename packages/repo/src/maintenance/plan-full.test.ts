import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planFullTasks } from './plan-full.ts'
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

describe('the order of a full run', () => {
  const running = (schedule: MaintenanceSchedule, order: 'kopia' | 'ours', safety = safetyFull) =>
    planFullTasks({ schedule, safety, now: 100n * hour, order })
      .filter(({ allowed }) => allowed)
      .map(({ task }) => task)

  it('lets ours delete and rewrite in one run where kopia does one of them', () => {
    const schedule = history({
      'snapshot-gc': [ran(76), ran(52)],
      'full-rewrite-contents': [ran(76)],
      'full-delete-blobs': [ran(52)],
    })
    assert.deepEqual(running(schedule, 'kopia'), [
      'snapshot-gc',
      'full-drop-deleted-content',
      'full-delete-blobs',
    ])
    assert.deepEqual(running(schedule, 'ours'), [
      ...['snapshot-gc', 'full-drop-deleted-content', 'full-delete-blobs', 'full-rewrite-contents'],
    ])
  })

  it('never deletes in the run that has just rewritten', () => {
    assert.deepEqual(running(emptySchedule, 'kopia'), ['snapshot-gc', 'full-rewrite-contents'])
    assert.deepEqual(running(emptySchedule, 'ours'), [
      'snapshot-gc',
      'full-delete-blobs',
      'full-rewrite-contents',
    ])
  })

  it('does everything at once without waiting times', () => {
    assert.deepEqual(running(emptySchedule, 'ours', safetyNone), [
      ...['snapshot-gc', 'full-drop-deleted-content', 'full-rewrite-contents', 'full-delete-blobs'],
    ])
  })
})
