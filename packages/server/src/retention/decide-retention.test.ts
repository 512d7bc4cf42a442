import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Backup,
  type BackupPhase,
  type BackupStorageLocation,
  formatTime,
  type Schedule,
} from '@lateen/api'
import { decideRetention, labelChange } from './decide-retention.ts'
import { keepLastGoodAnnotation, keptFor } from './keep-last-good.ts'

const day = 86_400_000
const start = Date.parse('2026-03-01T12:00:00Z')

interface Made {
  began: number | undefined
  failureReason?: string
  phase?: BackupPhase
  schedule?: string
  annotations?: Record<string, string>
  labels?: Record<string, string>
  expires?: number
}

function backup(name: string, of: Made): Backup {
  const { began, phase = 'Completed', schedule, annotations = {}, labels = {}, expires, failureReason } = of
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: {
      name,
      namespace: 'velero',
      annotations,
      labels: { ...labels, ...(schedule !== undefined && { 'velero.io/schedule-name': schedule }) },
    },
    spec: { storageLocation: 'default' },
    status: {
      phase,
      ...(began !== undefined && { startTimestamp: formatTime(began) }),
      ...(failureReason !== undefined && { failureReason }),
      ...(expires !== undefined && { expiration: formatTime(expires) }),
    },
  }
}

function location(
  spec: object = {},
  phase: 'Available' | 'Unavailable' = 'Available',
): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace: 'velero' },
    spec: { provider: 'aws', objectStorage: { bucket: 'b' }, ...spec },
    status: { phase },
  }
}

function decided(of: Partial<Made>, now: number, at: BackupStorageLocation | undefined = location()) {
  const made = backup('one', { began: start, expires: start + day, ...of })
  return decideRetention({ backup: made, location: at, keptFor: () => undefined, now })
}

describe('a backup that expires', () => {
  it('is waited for until then, and goes at that moment', () => {
    assert.deepEqual(decided({}, start), { type: 'wait', afterMs: day })
    assert.deepEqual(decided({}, start + day - 1), { type: 'wait', afterMs: 1 })
    assert.deepEqual(decided({}, start + day), { type: 'expire' })
  })

  it('is decided by the clock of now, wherever that was put', () => {
    const clock = [start, start + 40 * day, start - 40 * day, start + day]
    assert.deepEqual(
      clock.map(now => decided({}, now).type),
      ['wait', 'expire', 'wait', 'expire'],
    )
  })

  it('stays for ever without a time, and while it is being removed', () => {
    const made = backup('one', { began: start })
    const facts = { location: location(), keptFor: () => undefined, now: start + 1_000 * day }
    assert.deepEqual(decideRetention({ backup: made, ...facts }), { type: 'ignore' })
    const going = backup('one', { began: start, expires: start })
    going.metadata.deletionTimestamp = formatTime(start)
    assert.deepEqual(decideRetention({ backup: going, ...facts }), { type: 'ignore' })
  })

  it('goes in every phase but InProgress, where a deletion would be refused', () => {
    const phases: BackupPhase[] = ['Completed', 'PartiallyFailed', 'Failed', 'Deleting', 'Finalizing']
    for (const phase of phases) assert.equal(decided({ phase }, start + day).type, 'expire', phase)
    assert.equal(decided({ phase: 'InProgress' }, start + day).type, 'busy')
  })

  it('stays where it cannot be deleted, and says why', () => {
    const facts = {
      backup: backup('one', { began: start, expires: start }),
      keptFor: () => undefined,
      now: start,
    }
    const blocked = (at: BackupStorageLocation | undefined) => decideRetention({ ...facts, location: at })
    assert.deepEqual(blocked(undefined), { type: 'blocked', failure: 'BSLNotFound' })
    assert.deepEqual(blocked(location({ accessMode: 'ReadOnly' })), {
      type: 'blocked',
      failure: 'BSLReadOnly',
    })
    assert.deepEqual(blocked(location({}, 'Unavailable')), { type: 'blocked', failure: 'BSLUnavailable' })
    assert.deepEqual(blocked(location({ accessMode: 'ReadWrite' })), { type: 'expire' })
  })

  it('goes wherever its location is when it failed before it began, for it has nothing there', () => {
    const places = [undefined, location({ accessMode: 'ReadOnly' }), location({}, 'Unavailable')]
    const types = (of: Partial<Made>) =>
      places.map(
        at =>
          decideRetention({
            backup: backup('one', { began: undefined, expires: start, ...of }),
            location: at,
            keptFor: () => undefined,
            now: start,
          }).type,
      )
    const [gone, stays] = [Array(3).fill('expire'), Array(3).fill('blocked')]
    const taken = 'backup already exists in object storage'
    assert.deepEqual(types({ phase: 'FailedValidation' }), gone)
    assert.deepEqual(types({ phase: 'Failed' }), gone)
    // Velero notes a beginning before it looks.
    assert.deepEqual(types({ phase: 'Failed', began: start, failureReason: taken }), gone)
    assert.deepEqual(types({ phase: 'Failed', began: start }), stays)
    // Some that have begun do not say when.
    for (const phase of ['Completed', 'PartiallyFailed', 'Finalizing'] as const) {
      assert.deepEqual(types({ phase }), stays, phase)
    }
  })

  it('has its label written only when that changes', () => {
    const labelled = backup('one', { began: start, labels: { 'velero.io/gc-failure': 'BSLReadOnly' } })
    const plain = backup('one', { began: start })
    assert.equal(labelChange(labelled, 'BSLReadOnly'), undefined)
    assert.equal(labelChange(labelled, 'BSLNotFound'), 'BSLNotFound')
    assert.equal(labelChange(labelled, undefined), null)
    assert.equal(labelChange(plain, undefined), undefined)
  })

  it('is kept for its schedule before anybody asks about its location', () => {
    const made = backup('one', { began: start, expires: start })
    const step = decideRetention({ backup: made, location: undefined, keptFor: () => 'daily', now: start })
    assert.deepEqual(step, { type: 'keep', schedule: 'daily' })
  })
})

describe('the last good backup of a schedule', () => {
  const keeping = { [keepLastGoodAnnotation]: 'true' }
  const synced = { 'lateen.dev/synced': 'true' }
  const schedule = (name: string, annotations: Record<string, string> = keeping): Schedule => ({
    apiVersion: 'velero.io/v1',
    kind: 'Schedule',
    metadata: { name, namespace: 'velero', annotations },
    spec: { schedule: '@daily', template: {} },
  })
  const kept = (backups: Backup[], schedules: Schedule[]) =>
    backups.filter(each => keptFor({ backup: each, backups, schedules })).map(({ metadata }) => metadata.name)

  const three = [
    backup('a', { began: start, schedule: 'daily' }),
    backup('b', { began: start + day, schedule: 'daily' }),
    backup('c', { began: start + 2 * day, schedule: 'daily' }),
  ]

  it('stays, and the others go', () => {
    assert.deepEqual(kept(three, [schedule('daily')]), ['c'])
  })

  it('is the last Completed one, whatever came after it', () => {
    const after = (['Failed', 'PartiallyFailed', 'InProgress', 'Deleting', 'FailedValidation'] as const).map(
      (phase, index) =>
        backup(`after-${index}`, { began: start + (3 + index) * day, schedule: 'daily', phase }),
    )
    assert.deepEqual(kept([...three, ...after], [schedule('daily')]), ['c'])
  })

  it('is exactly one of those that began together', () => {
    const together = ['x', 'y', 'z'].map(name => backup(name, { began: start, schedule: 'daily' }))
    assert.deepEqual(kept(together, [schedule('daily')]), ['z'])
  })

  it('goes when the schedule does not say so, or is gone', () => {
    assert.deepEqual(kept(three, [schedule('daily', {})]), [])
    assert.deepEqual(kept(three, [schedule('daily', { [keepLastGoodAnnotation]: 'yes' })]), [])
    assert.deepEqual(kept(three, [schedule('weekly')]), [])
    const annotated = [backup('a', { began: start, schedule: 'daily', annotations: keeping })]
    assert.deepEqual(kept(annotated, []), [])
  })

  it('is not that of another schedule, and no backup without one is kept', () => {
    const backups = [
      ...three,
      backup('w', { began: start - day, schedule: 'weekly' }),
      backup('by-hand', { began: start + 9 * day }),
    ]
    assert.deepEqual(kept(backups, [schedule('daily'), schedule('weekly')]), ['c', 'w'])
  })

  it('is known by the label of a schedule whose name is longer than labels are', () => {
    const name = 's'.repeat(80)
    const label = `${'s'.repeat(57)}`
    const stranger = backup('a', { began: start, schedule: label })
    assert.deepEqual(kept([stranger], [schedule(name)]), [])
  })

  it('is one of this cluster and one of the others, when those have a schedule of the same name', () => {
    const others = [
      backup('o1', { began: start + 5 * day, schedule: 'daily', annotations: synced }),
      backup('o2', { began: start + 6 * day, schedule: 'daily', annotations: synced }),
    ]
    assert.deepEqual(kept([...three, ...others], [schedule('daily')]), ['c', 'o2'])
  })

  it('stays in clusters that found it in a bucket and do not have the schedule', () => {
    const annotations = { ...keeping, ...synced }
    const others = [
      backup('o1', { began: start, schedule: 'daily', annotations }),
      backup('o2', { began: start + day, schedule: 'daily', annotations }),
    ]
    assert.deepEqual(kept(others, []), ['o2'])
  })

  it('was deleted by a third cluster for the sake of the second one, whose schedule has the same name', () => {
    const of = (uid: string) => ({ ...keeping, ...synced, 'lateen.dev/schedule-uid': uid })
    const others = [
      backup('o1', { began: start, schedule: 'daily', annotations: of('s-1') }),
      backup('o2', { began: start + day, schedule: 'daily', annotations: of('s-1') }),
      backup('p1', { began: start + 2 * day, schedule: 'daily', annotations: of('s-2') }),
    ]
    assert.deepEqual(kept([...three, ...others], [schedule('daily')]), ['c', 'o2', 'p1'])
  })
})
