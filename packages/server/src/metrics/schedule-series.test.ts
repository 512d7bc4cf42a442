import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase, Schedule } from '@lateen/api'
import { registerLateenMetrics } from './lateen-metrics.ts'
import { observeBackups } from './observe-backups.ts'
import { createMetricsRegistry } from './registry.ts'
import { followSchedules } from './schedule-series.ts'
import { registerVeleroMetrics } from './velero-metrics.ts'

function backup(
  name: string,
  phase: BackupPhase,
  more: { schedule?: string; at?: string; foreign?: boolean; version?: string },
): Backup {
  const { schedule, at, foreign, version } = more
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: {
      name,
      namespace: 'ns',
      uid: name,
      ...(version !== undefined && { resourceVersion: version }),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: schedule === undefined ? {} : { 'velero.io/schedule-name': schedule },
      annotations: foreign === true ? { foreign: '' } : {},
    },
    spec: {},
    status: {
      phase,
      ...(at !== undefined && { startTimestamp: at, completionTimestamp: at }),
      progress: { totalItems: name.length, itemsBackedUp: name.length },
      errors: phase === 'Completed' ? 0 : 1,
    },
  }
}

function given(backups: Backup[], names: string[]) {
  const registry = createMetricsRegistry()
  const velero = registerVeleroMetrics(registry)
  const own = registerLateenMetrics(registry)
  const schedules = () =>
    names.map(
      (name): Schedule => ({
        apiVersion: 'velero.io/v1',
        kind: 'Schedule',
        metadata: { name },
        spec: { schedule: '@daily', template: {} },
      }),
    )
  registry.beforeRender(
    followSchedules({
      ...{ velero, own },
      schedules: { hasSynced: true, list: schedules },
      backups: { hasSynced: true, list: () => backups },
      isForeign: ({ metadata }) => metadata.annotations?.foreign !== undefined,
    }),
  )
  const samples = (schedule: string) => {
    const found = registry.render().matchAll(/^velero_(\w+)\{schedule="([^"]*)"\} (\S+)$/gm)
    const own = [...found].filter(([, , of]) => of === schedule)
    return Object.fromEntries(own.map(([, name = '', , value]) => [name, Number(value)]))
  }
  const see = observeBackups({ velero, own, isLeading: () => true })
  return { samples, see, names }
}

const day = (number: number) => `2026-01-0${number}T00:00:00Z`
const seconds = (number: number) => Date.UTC(2026, 0, number) / 1_000

describe('series of schedules', () => {
  it('are there from the beginning, and gone with the schedule', () => {
    const { samples, names } = given([], ['nightly'])
    const counters = Object.entries(samples('nightly'))
    assert.equal(counters.length, 20)
    assert.deepEqual(
      counters.filter(([, value]) => value !== 0),
      [['backup_last_status', 1]],
    )
    assert.deepEqual(samples(''), samples('nightly'))
    names.pop()
    assert.deepEqual(samples('nightly'), {})
  })

  it('are brought to what the backups say that are there', () => {
    const { samples } = given(
      [
        backup('old', 'Completed', { schedule: 'nightly', at: day(1) }),
        backup('failed', 'PartiallyFailed', { schedule: 'nightly', at: day(3) }),
        backup('good', 'Completed', { schedule: 'nightly', at: day(2) }),
        backup('running', 'InProgress', { schedule: 'nightly' }),
        backup('of-nobody', 'Completed', { schedule: 'gone', at: day(2) }),
      ],
      ['nightly'],
    )
    const now = samples('nightly')
    assert.equal(now.backup_last_status, 0)
    assert.equal(now.backup_items_total, 'failed'.length)
    assert.equal(now.backup_items_errors, 1)
    assert.equal(now.backup_last_successful_timestamp, seconds(2))
    assert.deepEqual(samples('gone'), {})
  })

  it('show the later of two backups that ended in the same second, in whatever order they are listed', () => {
    const good = backup('good', 'Completed', { schedule: 'nightly', at: day(1), version: '1000' })
    const failed = backup('failed', 'PartiallyFailed', { schedule: 'nightly', at: day(1), version: '999' })
    for (const backups of [
      [good, failed],
      [failed, good],
    ]) {
      const now = given(backups, ['nightly']).samples('nightly')
      assert.equal(now.backup_last_status, 1)
      assert.equal(now.backup_items_total, 'good'.length)
    }
  })

  it('take from a foreign backup only when it was', () => {
    const { samples } = given([backup('there', 'Completed', { at: day(2), foreign: true })], [])
    assert.equal(samples('').backup_last_successful_timestamp, seconds(2))
    assert.equal(samples('').backup_items_total, 0)
  })

  it('follow a foreign backup that comes later', () => {
    const { samples, see } = given([], [])
    assert.equal(samples('').backup_last_successful_timestamp, undefined)
    see({ type: 'added', object: backup('there', 'Completed', { at: day(3), foreign: true }) })
    see({ type: 'added', object: backup('before', 'Completed', { at: day(2), foreign: true }) })
    see({ type: 'added', object: backup('failed', 'Failed', { at: day(4), foreign: true }) })
    assert.equal(samples('').backup_last_successful_timestamp, seconds(3))
    assert.equal(samples('').backup_last_status, 1)
  })

  it('have what the backups say when a schedule is made again', () => {
    const { samples, names } = given(
      [backup('one', 'PartiallyFailed', { schedule: 'nightly', at: day(1) })],
      [],
    )
    assert.deepEqual(samples('nightly'), {})
    names.push('nightly')
    assert.equal(samples('nightly').backup_last_status, 0)
    names.pop()
    assert.deepEqual(samples('nightly'), {})
    names.push('nightly')
    assert.equal(samples('nightly').backup_last_status, 0)
  })

  it('follow what happens, and do not go back when a backup is deleted', () => {
    const backups = [backup('failed', 'Failed', { at: day(1) })]
    const { samples, see } = given(backups, [])
    assert.equal(samples('').backup_last_status, 0)
    const previous = backup('good', 'Finalizing', {})
    const object = backup('good', 'Completed', { at: day(2) })
    see({ type: 'updated', previous, object })
    assert.equal(samples('').backup_last_status, 1)
    assert.equal(samples('').backup_success_total, 1)
    assert.equal(samples('').backup_last_successful_timestamp, seconds(2))
    see({ type: 'deleted', object: { ...object, status: { phase: 'Deleting' } } })
    assert.equal(samples('').backup_last_status, 1)
    assert.equal(samples('').backup_deletion_success_total, 1)
    assert.equal(samples('').backup_last_successful_timestamp, seconds(2))
  })
})
