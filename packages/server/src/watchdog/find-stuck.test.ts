import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BackupKind,
  BackupRepositoryKind,
  DataDownloadKind,
  DataUploadKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  isTerminal,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
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

/** Of these objects together, those that are stuck, as `kind phase`. */
const stuckOf = (objects: PhasedObject[], after: number) =>
  findStuck(objects, created + after).map(({ object: { kind }, phase }) => `${kind} ${phase}`)

const MINUTE = 60_000
const moveKinds = ['PodVolumeBackup', 'PodVolumeRestore', 'DataUpload', 'DataDownload']

describe('findStuck', () => {
  it('has a rule for every phase that a watched kind leaves by itself', () => {
    const others = { Backup: ['Deleting'], BackupRepository: ['NotReady', 'Ready'] } as Record<
      string,
      string[]
    >
    const kinds = [
      ...[BackupKind, RestoreKind, DeleteBackupRequestKind, DownloadRequestKind, BackupRepositoryKind],
      ...[PodVolumeBackupKind, PodVolumeRestoreKind, DataUploadKind, DataDownloadKind],
    ]
    for (const kind of kinds) {
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

  it('leaves alone restores and requests for deletions that wait for others, as long as one of those is at work', () => {
    for (const kind of ['Restore', 'DeleteBackupRequest']) {
      const waiting = object(kind, 'New')
      assert.deepEqual(stuckOf([waiting, object(kind, 'InProgress')], HOUR), [])
      for (const other of ['New', 'Completed', 'Failed', 'Processed', 'WaitingForPluginOperations']) {
        assert.ok(stuckOf([waiting, object(kind, other)], HOUR).includes(`${kind} New`), `${kind} ${other}`)
      }
    }
    const others = [object('Backup', 'InProgress'), object('DeleteBackupRequest', 'InProgress')]
    assert.deepEqual(stuckOf([object('Restore', 'New'), ...others], HOUR), ['Restore New'])
  })

  it('leaves alone backups in the queue as long as one of those before them is at work', () => {
    const queued = object('Backup', 'Queued')
    const startTimestamp = '2026-01-03T00:00:00Z'
    const running = object('Backup', 'InProgress', { status: { startTimestamp } })
    assert.deepEqual(stuckOf([queued, running], 49 * HOUR), [])
    assert.deepEqual(stuckOf([queued], 49 * HOUR), ['Backup Queued'])
    const ready = object('Backup', 'ReadyToStart')
    assert.deepEqual(stuckOf([ready, running], 49 * HOUR), ['Backup ReadyToStart'])
  })

  it('names the one that others wait for when that is stuck itself', () => {
    const objects = [object('Restore', 'New'), object('Restore', 'InProgress')]
    assert.deepEqual(stuckOf(objects, 25 * HOUR), ['Restore InProgress'])
  })

  it('gives those that waited some time to be taken up when one of those before them has just ended', () => {
    const ended = object('Restore', 'Failed', { status: { completionTimestamp: '2026-01-01T05:00:00Z' } })
    const objects = [object('Restore', 'New'), ended]
    assert.deepEqual(stuckOf(objects, 5 * HOUR + 10 * MINUTE), [])
    assert.deepEqual(stuckOf(objects, 5 * HOUR + 10 * MINUTE + 1), ['Restore New'])
    // An end that is still to come is from when the clock was wrong.
    assert.deepEqual(stuckOf(objects, 4 * HOUR), ['Restore New'])
  })

  it('finds moves of volume data that nobody takes up, unless others have the slots', () => {
    for (const kind of moveKinds) {
      const waiting = object(kind, 'New')
      assert.ok(!isStuck(waiting, 4 * HOUR), kind)
      assert.ok(isStuck(waiting, 4 * HOUR + 1), kind)
      for (const phase of ['Accepted', 'Prepared', 'InProgress', 'Canceling']) {
        const status = { acceptedTimestamp: '2026-01-01T05:00:00Z', startTimestamp: '2026-01-01T05:00:00Z' }
        assert.deepEqual(stuckOf([waiting, object('DataUpload', phase, { status })], 5 * HOUR), [], phase)
      }
    }
  })

  it('finds moves of volume data that were accepted, prepared or begun, and do not end', () => {
    const acceptedTimestamp = '2026-01-01T12:00:00Z'
    const startTimestamp = '2026-01-02T12:00:00Z'
    for (const kind of moveKinds) {
      const accepted = object(kind, 'Accepted', { status: { acceptedTimestamp } })
      const prepared = object(kind, 'Prepared', { status: { acceptedTimestamp } })
      for (const move of [accepted, prepared]) {
        assert.ok(!isStuck(move, 16 * HOUR), kind)
        assert.ok(isStuck(move, 16 * HOUR + 1), kind)
      }
      // Two that are prepared do not wait for each other, but for one that moves.
      const running = object('DataUpload', 'InProgress', { status: { startTimestamp } })
      assert.equal(stuckOf([prepared, prepared], 40 * HOUR).length, 2)
      assert.deepEqual(stuckOf([prepared, running], 40 * HOUR), [])
      for (const phase of ['InProgress', 'Canceling']) {
        const move = object(kind, phase, { status: { acceptedTimestamp, startTimestamp } })
        assert.ok(!isStuck(move, (36 + 24) * HOUR), kind)
        assert.ok(isStuck(move, (36 + 24) * HOUR + 1), kind)
      }
      for (const phase of ['Completed', 'Failed', 'Canceled']) {
        assert.ok(!isStuck(object(kind, phase), 9_999 * HOUR))
      }
    }
  })

  it('gives moves of data the time that the operations of their backup or restore may take', () => {
    const owner = (kind: string) =>
      object(kind, 'WaitingForPluginOperations', {
        metadata: { uid: 'owner' },
        spec: { itemOperationTimeout: '100h' },
      })
    const move = (kind: string, label: string) =>
      object(kind, 'InProgress', { metadata: { labels: { [label]: 'owner' } } })
    const [uploaded, downloaded] = ['velero.io/backup-uid', 'velero.io/restore-uid']
    const upload = [move('DataUpload', uploaded), owner('Backup')]
    assert.deepEqual(stuckOf(upload, 100 * HOUR), [])
    assert.deepEqual(stuckOf(upload, 100 * HOUR + 1), ['DataUpload InProgress'])
    assert.deepEqual(stuckOf([move('DataDownload', downloaded), owner('Restore')], 100 * HOUR), [])
    assert.deepEqual(stuckOf([move('DataUpload', uploaded)], 25 * HOUR), ['DataUpload InProgress'])
    // Volumes of pods are no operations.
    assert.deepEqual(stuckOf([move('PodVolumeBackup', uploaded), owner('Backup')], 25 * HOUR), [
      'PodVolumeBackup InProgress',
    ])
  })

  it("leaves alone what other data movers than Lateen's do, and finds what is of its own", () => {
    for (const kind of ['DataUpload', 'DataDownload']) {
      const deletionTimestamp = '2026-01-01T00:00:00Z'
      for (const metadata of [{}, { deletionTimestamp }]) {
        const of = (datamover: string) => object(kind, 'InProgress', { metadata, spec: { datamover } })
        assert.ok(!isStuck(of('example.com/mover'), 9_999 * HOUR))
        for (const own of ['', 'velero']) assert.ok(isStuck(of(own), 25 * HOUR))
      }
    }
    // A backup that has its data moved by others is the server's own.
    assert.ok(isStuck(object('Backup', 'New', { spec: { datamover: 'example.com/mover' } }), HOUR))
  })

  it('says how to have moves of volume data stop, and what helps when that was done', () => {
    const mend = (move: PhasedObject) => findStuck([move], created + 25 * HOUR)[0]?.mend
    assert.equal(
      mend(object('DataUpload', 'InProgress')),
      `kubectl patch datauploads.velero.io shop --namespace velero --type merge --patch '{"spec":{"cancel":true}}'`,
    )
    assert.equal(
      mend(object('PodVolumeRestore', 'New', { spec: { cancel: true } })),
      'kubectl rollout restart daemonset/node-agent --namespace velero',
    )
  })

  it('finds repositories that nobody opens', () => {
    assert.ok(!isStuck(object('BackupRepository', 'New'), HOUR))
    assert.ok(isStuck(object('BackupRepository'), HOUR + 1))
    for (const phase of ['Ready', 'NotReady']) {
      assert.ok(!isStuck(object('BackupRepository', phase), 9_999 * HOUR))
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
    // A mover has an hour to hear that it is cancelled.
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    const move = object('PodVolumeBackup', 'InProgress', { metadata: { deletionTimestamp } })
    assert.ok(!isStuck(move, 2 * HOUR))
    assert.ok(isStuck(move, 2 * HOUR + 1))
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
