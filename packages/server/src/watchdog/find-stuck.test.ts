import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BackupKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  isTerminal,
  RestoreKind,
} from '@lateen/api'
import { findStuck, shortDuration, stuckFinding } from './find-stuck.ts'
import { type PhasedObject, stuckRules } from './stuck-rules.ts'

const HOUR = 3_600_000
const created = Date.parse('2026-01-01T00:00:00Z')

function object(kind: string, phase?: string, more: Record<string, object> = {}): PhasedObject {
  const { metadata, spec = {}, status } = more
  return {
    apiVersion: 'velero.io/v1',
    kind,
    metadata: { name: 'shop', namespace: 'velero', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec,
    status: { ...(phase !== undefined && { phase }), ...status },
  }
}

const isStuck = (some: PhasedObject, after: number) => findStuck([some], created + after).length === 1

describe('findStuck', () => {
  it('has a rule for every phase that a watched kind leaves by itself', () => {
    const others = { Backup: ['Deleting'] } as Record<string, string[]>
    for (const kind of [BackupKind, RestoreKind, DeleteBackupRequestKind, DownloadRequestKind]) {
      const ruled = stuckRules.get(kind.kind)?.flatMap(({ phases }) => phases) ?? []
      const expected = kind.phases?.phases.filter(phase => !isTerminal(kind, phase)) ?? []
      assert.deepEqual([...ruled, ...(others[kind.kind] ?? [])].sort(), [...expected].sort(), kind.kind)
    }
  })

  it('finds new objects that nobody takes up, with or without a phase', () => {
    for (const kind of ['Backup', 'Restore', 'DeleteBackupRequest', 'Schedule', 'ServerStatusRequest']) {
      for (const phase of [undefined, '', 'New']) {
        assert.ok(!isStuck(object(kind, phase), 10 * 60_000), kind)
        assert.ok(isStuck(object(kind, phase), 10 * 60_000 + 1), kind)
      }
    }
  })

  it('leaves alone what has ended, what is paused, and what it knows nothing of', () => {
    for (const phase of ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']) {
      assert.ok(!isStuck(object('Backup', phase), 9_999 * HOUR))
      assert.ok(!isStuck(object('Restore', phase), 9_999 * HOUR))
    }
    assert.ok(!isStuck(object('Schedule', 'Enabled'), 9_999 * HOUR))
    assert.ok(!isStuck(object('Schedule', 'New', { spec: { paused: true } }), 9_999 * HOUR))
    assert.ok(!isStuck(object('Other', 'New'), 9_999 * HOUR))
  })

  it('counts from the start of the work, and adds the time that operations may take', () => {
    const status = { startTimestamp: '2026-01-03T00:00:00Z' }
    for (const kind of ['Backup', 'Restore']) {
      assert.ok(!isStuck(object(kind, 'InProgress', { status }), (48 + 24) * HOUR))
      assert.ok(isStuck(object(kind, 'InProgress', { status }), (48 + 24) * HOUR + 1))
      const waiting = object(kind, 'WaitingForPluginOperations', { status })
      assert.ok(!isStuck(waiting, (48 + 24 + 4) * HOUR))
      assert.ok(isStuck(waiting, (48 + 24 + 4) * HOUR + 1))
      const patient = { ...waiting, spec: { itemOperationTimeout: '100h' } }
      assert.ok(!isStuck(patient, (48 + 24 + 100) * HOUR))
      assert.ok(isStuck({ ...waiting, spec: { itemOperationTimeout: 'nonsense' } }, 80 * HOUR))
    }
  })

  it('finds what is being deleted and does not go, whatever its phase', () => {
    const going = object('Restore', 'Completed', { metadata: { deletionTimestamp: '2026-01-02T00:00:00Z' } })
    assert.ok(!isStuck(going, 25 * HOUR))
    const [found] = findStuck([going], created + 25 * HOUR + 1)
    assert.equal(found?.phase, 'Terminating')
    assert.match(
      found?.mend ?? '',
      /^kubectl patch restores\.velero\.io shop --namespace velero .*"finalizers":null/,
    )
  })

  it('finds nothing when the clock was put back, or a time cannot be read', () => {
    assert.ok(!isStuck(object('Backup', 'New'), -5 * HOUR))
    const status = { startTimestamp: 'yesterday' }
    assert.ok(!isStuck(object('Backup', 'InProgress', { status }), 9_999 * HOUR))
  })

  it('says what is stuck, since when, and what would mend it', () => {
    const [found] = findStuck([object('Backup', 'InProgress')], created + 25 * HOUR)
    assert.ok(found)
    assert.deepEqual(stuckFinding(found), {
      type: 'stuck',
      subject: 'Backup shop',
      problem: 'is InProgress for longer than 24h',
      since: '2026-01-01T00:00:00Z',
      mend: 'lateen backup cancel shop --confirm',
    })
  })

  it('writes durations without what is zero at their end', () => {
    assert.deepEqual([24 * HOUR, 10 * 60_000, 90 * 60_000, 61_000].map(shortDuration), [
      '24h',
      '10m',
      '1h30m',
      '1m1s',
    ])
  })
})
