import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase, Schedule, ScheduleSpec, ScheduleStatus } from '@lateen/api'
import { decideSchedule } from './decide-schedule.ts'
import { timeZone } from './zoned-time.ts'

const zone = timeZone('UTC')
assert.ok(zone)

function schedule(
  some: { spec?: Partial<ScheduleSpec>; status?: ScheduleStatus; name?: string; created?: string } = {},
): Schedule {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Schedule',
    metadata: {
      name: some.name ?? 'nightly',
      namespace: 'velero',
      uid: 'u-1',
      creationTimestamp: some.created ?? '2026-01-01T12:00:00Z',
      labels: { team: 'a' },
      annotations: { note: 'x' },
    },
    spec: { schedule: '0 3 * * *', template: { ttl: '24h0m0s' }, ...some.spec },
    status: { phase: 'Enabled', ...some.status },
  }
}

function decide(
  of: Schedule,
  at: string,
  { backups = [] as Backup[], skipByDefault = false, unnoted = undefined as Backup | undefined } = {},
): ReturnType<typeof decideSchedule> {
  assert.ok(zone)
  return decideSchedule({ schedule: of, backups, unnoted, now: Date.parse(at), skipByDefault, zone })
}

function backup(
  phase: BackupPhase,
  annotations: Record<string, string> = {},
  creationTimestamp = '2026-01-02T03:00:02Z',
): Backup {
  const metadata = { name: `of-${phase}`, annotations, creationTimestamp }
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {}, status: { phase } }
}

describe('a schedule', () => {
  it('is enabled, waits for its time, and makes one backup once that has passed', () => {
    assert.deepEqual(decide(schedule({ status: { phase: 'New' } }), '2026-01-01T12:00:01Z'), {
      type: 'enable',
    })
    assert.deepEqual(decide(schedule(), '2026-01-01T12:00:01Z'), {
      type: 'wait',
      until: Date.parse('2026-01-02T03:00:00Z'),
    })
    assert.equal(decide(schedule(), '2026-01-02T03:00:00Z').type, 'wait')
    const made = decide(schedule(), '2026-01-02T03:00:01Z')
    assert.ok(made.type === 'make')
    assert.deepEqual(made.backup, {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: {
        name: 'nightly-20260102030001',
        namespace: 'velero',
        labels: { team: 'a', 'velero.io/schedule-name': 'nightly' },
        annotations: {
          note: 'x',
          'lateen.dev/due': '2026-01-02T03:00:00Z',
          'lateen.dev/schedule-uid': 'u-1',
        },
      },
      spec: { ttl: '24h0m0s' },
    })
  })

  it('makes one backup for all times that passed while no server ran', () => {
    const missed = decide(schedule(), '2026-01-09T12:00:00Z')
    assert.ok(missed.type === 'make')
    const after = schedule({ status: { lastBackup: '2026-01-09T12:00:00Z' } })
    assert.deepEqual(decide(after, '2026-01-09T12:00:01Z'), {
      type: 'wait',
      until: Date.parse('2026-01-10T03:00:00Z'),
    })
  })

  it('waits for each backup of its own that has not ended', () => {
    const phases: BackupPhase[] = [
      ...([
        'New',
        'Queued',
        'ReadyToStart',
        'InProgress',
        'WaitingForPluginOperations',
        'Finalizing',
      ] as const),
      ...(['WaitingForPluginOperationsPartiallyFailed', 'FinalizingPartiallyFailed'] as const),
    ]
    for (const phase of phases) {
      const step = decide(schedule(), '2026-01-02T03:00:01Z', { backups: [backup(phase)] })
      assert.deepEqual(step, { type: 'hold', behind: `of-${phase}` })
    }
    for (const phase of ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation', 'Deleting'] as const) {
      assert.equal(decide(schedule(), '2026-01-02T03:00:01Z', { backups: [backup(phase)] }).type, 'make')
    }
  })

  it('makes no second backup for a time when the server died before it took note of the first', () => {
    const backups = [backup('Completed', { 'lateen.dev/due': '2026-01-02T03:00:00Z' })]
    assert.deepEqual(decide(schedule(), '2026-01-02T03:00:09Z', { backups }), {
      type: 'note',
      made: Date.parse('2026-01-02T03:00:02Z'),
    })
  })

  it('takes note of a backup that the API server, whose clock is behind, has made before its time', () => {
    const backups = [
      backup('Completed', { 'lateen.dev/due': '2026-01-02T03:00:00Z' }, '2026-01-02T02:59:50Z'),
    ]
    const step = decide(schedule(), '2026-01-02T03:00:01Z', { backups })
    assert.deepEqual(step, { type: 'note', made: Date.parse('2026-01-02T03:00:00Z') })
    const noted = schedule({ status: { lastBackup: '2026-01-02T03:00:00Z' } })
    assert.equal(decide(noted, '2026-01-02T03:00:01Z', { backups }).type, 'wait')
  })

  it('makes a backup though there is one for the same time from when the clock was wrong', () => {
    const backups = [
      backup('Completed', { 'lateen.dev/due': '2026-01-02T03:00:00Z' }, '2026-01-01T12:00:00Z'),
    ]
    assert.equal(decide(schedule(), '2026-01-02T03:00:01Z', { backups }).type, 'make')
  })

  it('makes no second backup for a time when it could not take note of the first, and no list has that yet', () => {
    const unnoted = backup('New', { 'lateen.dev/due': '2026-01-02T03:00:00Z' })
    assert.equal(decide(schedule(), '2026-01-02T03:00:09Z', { unnoted }).type, 'note')
    const later = schedule({ status: { lastBackup: '2026-01-02T03:00:02Z' } })
    assert.equal(decide(later, '2026-01-03T03:00:01Z', { unnoted }).type, 'make')
  })

  it('leaves out what is due when it says so, and when the server does and it says nothing', () => {
    const due = '2026-01-02T03:00:01Z'
    assert.equal(decide(schedule({ spec: { skipImmediately: true } }), due).type, 'skip')
    assert.equal(decide(schedule(), due, { skipByDefault: true }).type, 'skip')
    assert.equal(
      decide(schedule({ spec: { skipImmediately: false } }), due, { skipByDefault: true }).type,
      'make',
    )
    const skipped = schedule({ spec: { skipImmediately: false }, status: { lastSkipped: due } })
    assert.equal(decide(skipped, '2026-01-02T03:00:09Z').type, 'wait')
  })

  it('does nothing while it is paused or being deleted', () => {
    assert.equal(decide(schedule({ spec: { paused: true } }), '2026-02-01T00:00:00Z').type, 'ignore')
    const { metadata, ...rest } = schedule()
    const deleted = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T13:00:00Z' } }
    assert.equal(decide(deleted, '2026-02-01T00:00:00Z').type, 'ignore')
  })

  it('is refused with the reason once, until it is corrected', () => {
    const wrong = schedule({ spec: { schedule: '61 * * * *' } })
    const refused = decide(wrong, '2026-01-02T03:00:01Z')
    assert.ok(refused.type === 'refuse')
    assert.match(refused.validationErrors.join(), /invalid schedule: 61 is more than 59 in the minute "61"/)
    const status = { phase: 'FailedValidation' as const, validationErrors: [...refused.validationErrors] }
    assert.equal(decide({ ...wrong, status }, '2026-01-02T03:00:01Z').type, 'ignore')
    assert.equal(decide(schedule({ status }), '2026-01-02T03:00:01Z').type, 'enable')
  })

  it('is refused when its name leaves no room for those of its backups', () => {
    const refused = decide(schedule({ name: 'x'.repeat(239) }), '2026-01-02T03:00:01Z')
    assert.ok(refused.type === 'refuse')
    assert.match(refused.validationErrors.join(), /too long/)
    assert.equal(decide(schedule({ name: 'x'.repeat(238) }), '2026-01-02T03:00:01Z').type, 'make')
  })

  it('that has no next time makes no backup', () => {
    for (const never of ['0 0 30 2 *', '@manual']) {
      assert.equal(decide(schedule({ spec: { schedule: never } }), '2026-01-02T03:00:01Z').type, 'ignore')
    }
  })

  it('counts from now when the clock was put back', () => {
    const ahead = schedule({ status: { lastBackup: '2027-01-02T03:00:00Z' } })
    assert.deepEqual(decide(ahead, '2026-01-02T12:00:00Z'), {
      type: 'correct',
      status: { lastBackup: '2026-01-02T12:00:00Z' },
    })
  })

  it('does not stay silent until the time when it was made, when the clock was put back before its first backup', () => {
    const created = '2027-01-01T12:00:00Z'
    const now = '2026-01-02T12:00:00Z'
    const correction = { lastSkipped: now }
    assert.deepEqual(decide(schedule({ created }), now), { type: 'correct', status: correction })
    const corrected = schedule({ created, status: correction })
    const due = { type: 'wait', until: Date.parse('2026-01-03T03:00:00Z') }
    assert.deepEqual(decide(corrected, '2026-01-02T12:00:01Z'), due)
    assert.equal(decide(corrected, '2026-01-03T03:00:01Z').type, 'make')
    const made = schedule({ created, status: { ...correction, lastBackup: '2026-01-03T03:00:01Z' } })
    assert.equal(decide(made, '2026-01-03T03:00:02Z').type, 'wait')
    assert.equal(decide(made, '2026-01-04T03:00:01Z').type, 'make')
  })

  it('that leaves out what is due at once counts from then, though it was made when the clock was ahead', () => {
    const skipping = { created: '2027-01-01T12:00:00Z', spec: { skipImmediately: true } }
    const skipped = '2026-01-02T12:00:00Z'
    assert.equal(decide(schedule(skipping), skipped).type, 'skip')
    const after = { ...skipping, spec: { skipImmediately: false }, status: { lastSkipped: skipped } }
    assert.equal(decide(schedule(after), '2026-01-03T03:00:01Z').type, 'make')
  })

  it('takes the clock of an API server that is a little ahead as it is', () => {
    const step = decide(schedule({ created: '2026-01-02T03:00:59Z' }), '2026-01-02T02:59:59Z')
    assert.deepEqual(step, { type: 'wait', until: Date.parse('2026-01-03T03:00:00Z') })
  })

  it("gives its backups the template's labels instead of its own, and owns them if it says so", () => {
    const template = { metadata: { labels: { only: 'this' } } }
    const step = decide(
      schedule({ spec: { template, useOwnerReferencesInBackup: true } }),
      '2026-01-02T03:00:01Z',
    )
    assert.ok(step.type === 'make')
    assert.deepEqual(step.backup.metadata.labels, { only: 'this', 'velero.io/schedule-name': 'nightly' })
    assert.deepEqual(step.backup.metadata.ownerReferences, [
      { apiVersion: 'velero.io/v1', kind: 'Schedule', name: 'nightly', uid: 'u-1', controller: true },
    ])
  })
})
