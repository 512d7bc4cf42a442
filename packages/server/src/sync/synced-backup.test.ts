import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase, BackupStatus, DeleteBackupRequest } from '@lateen/api'
import { decideName, isOpenRequest } from './decide-name.ts'
import { goesWithFolder } from './orphans.ts'
import { syncedBackup, withSyncedState } from './synced-backup.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

function stored(status: BackupStatus, metadata: object = {}, spec: object = {}): Backup {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'one', namespace: 'elsewhere', ...metadata },
    spec: { storageLocation: 'their-name', ...spec },
    status,
  }
}

const scope = {
  name: 'one',
  namespace: 'velero',
  location: 'our-name',
  scheduleUid: (name: string) => (name === 'daily' ? 'uid-here' : undefined),
  now,
}

function created(backup: Backup): Backup {
  const read = syncedBackup(backup, scope)
  assert.equal(read.type, 'create')
  return read.type === 'create' ? read.backup : backup
}

describe('a backup that is found in a bucket', () => {
  it('belongs to the namespace and the location of this cluster', () => {
    const labels = { app: 'shop', 'velero.io/storage-location': 'their-name' }
    const { metadata, spec } = created(stored({ phase: 'Completed' }, { labels }))
    assert.equal(metadata.namespace, 'velero')
    assert.equal(spec.storageLocation, 'our-name')
    assert.deepEqual(metadata.labels, { app: 'shop', 'velero.io/storage-location': 'our-name' })
  })

  it('has a label of a location with a long name that is short enough', () => {
    const location = 'l'.repeat(100)
    const read = syncedBackup(stored({ phase: 'Completed' }), { ...scope, location })
    const label = read.type === 'create' && read.backup.metadata.labels?.['velero.io/storage-location']
    assert.ok(label && label.length === 63 && label !== location.slice(0, 63))
  })

  it('brings nothing that the API server of its cluster gave it', () => {
    const of = {
      uid: 'u',
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-02T00:00:00Z',
      finalizers: ['elsewhere.example/finalizer'],
      managedFields: [{}],
      generateName: 'one-',
    }
    const { metadata } = created(stored({ phase: 'Completed' }, of))
    assert.deepEqual(new Set(Object.keys(metadata)), new Set(['annotations', 'labels', 'name', 'namespace']))
  })

  it('brings no hooks, which would run here', () => {
    const hooks = { resources: [{ name: 'x', pre: [{ exec: { command: ['rm'] } }] }] }
    assert.deepEqual(created(stored({ phase: 'Completed' }, {}, { hooks })).spec.hooks, {})
  })

  it('keeps its annotations, but not the time for which a schedule elsewhere made it', () => {
    const annotations = { note: 'x', 'lateen.dev/due': '2026-03-01T00:00:00Z' }
    const { metadata } = created(stored({ phase: 'Completed' }, { annotations }))
    assert.deepEqual(metadata.annotations, { note: 'x', 'lateen.dev/synced': 'true' })
  })

  it('keeps only owners that are schedules of this cluster', () => {
    const owner = (kind: string, name: string, uid: string) => ({
      apiVersion: 'velero.io/v1',
      kind,
      name,
      uid,
    })
    const ownerReferences = [
      owner('Schedule', 'daily', 'uid-there'),
      owner('Schedule', 'gone', 'uid-here'),
      owner('ConfigMap', 'daily', 'uid-here'),
      owner('Schedule', 'daily', 'uid-here'),
    ]
    const { metadata } = created(stored({ phase: 'Completed' }, { ownerReferences }))
    assert.deepEqual(metadata.ownerReferences, [owner('Schedule', 'daily', 'uid-here')])
  })

  const outcomes: [BackupPhase | undefined, 'kept' | 'left' | 'PartiallyFailed when expired'][] = [
    [undefined, 'left'],
    ['New', 'left'],
    ['Queued', 'left'],
    ['ReadyToStart', 'left'],
    ['InProgress', 'left'],
    ['FailedValidation', 'left'],
    ['Deleting', 'left'],
    ['WaitingForPluginOperations', 'PartiallyFailed when expired'],
    ['WaitingForPluginOperationsPartiallyFailed', 'PartiallyFailed when expired'],
    ['Finalizing', 'PartiallyFailed when expired'],
    ['FinalizingPartiallyFailed', 'PartiallyFailed when expired'],
    ['Completed', 'kept'],
    ['PartiallyFailed', 'kept'],
    ['Failed', 'kept'],
  ]
  for (const [phase, outcome] of outcomes) {
    it(`in phase ${phase ?? 'none'} is ${outcome}`, () => {
      const status = (expiration?: string): BackupStatus => ({
        ...(phase !== undefined && { phase }),
        ...(expiration !== undefined && { expiration }),
      })
      const phaseOf = (given: BackupStatus) => {
        const read = syncedBackup(stored(given), scope)
        return read.type === 'create' ? read.backup.status?.phase : read.type
      }
      const expired = phaseOf(status('2026-03-01T11:59:59Z'))
      const alive = [phaseOf(status('2026-03-01T12:00:01Z')), phaseOf(status())]
      if (outcome === 'kept') assert.deepEqual([expired, ...alive], [phase, phase, phase])
      else assert.deepEqual(alive, ['unfinished', 'unfinished'])
      if (outcome === 'left') assert.equal(expired, 'unfinished')
      if (outcome.startsWith('Partially')) assert.equal(expired, 'PartiallyFailed')
    })
  }

  it('is refused when its folder has another name', () => {
    const read = syncedBackup(stored({ phase: 'Completed' }), { ...scope, name: 'copy' })
    assert.equal(read.type, 'refuse')
  })
})

describe('a name in a bucket', () => {
  const here = (of: { phase?: BackupPhase; location?: string; state?: 'true' | 'without-volumes' }) => {
    const status: BackupStatus = of.phase === undefined ? {} : { phase: of.phase }
    const backup = stored(status, {}, { storageLocation: of.location })
    return of.state === undefined ? backup : withSyncedState(backup, of.state)
  }
  const step = (backup: Backup | undefined, isDeletionRequested = false) =>
    decideName({ location: 'ours', backup, isDeletionRequested }).type

  it('is read when the cluster does not have it', () => {
    assert.equal(step(undefined), 'read')
  })

  it('does not come back while its deletion is requested', () => {
    assert.equal(step(undefined, true), 'leave')
  })

  it('is left alone when the cluster has it, whatever its phase', () => {
    assert.equal(step(here({ phase: 'Deleting', location: 'ours', state: 'without-volumes' })), 'leave')
    assert.equal(step(here({ phase: 'Completed', location: 'ours', state: 'true' })), 'leave')
    assert.equal(step(here({ phase: 'InProgress', location: 'ours' })), 'leave')
    assert.equal(step(here({})), 'leave')
  })

  it('is completed when its volumes are missing', () => {
    const backup = here({ phase: 'Completed', location: 'ours', state: 'without-volumes' })
    assert.equal(step(backup), 'complete')
    assert.equal(step(backup, true), 'leave')
  })

  it('is a conflict when the cluster has it in another location', () => {
    const backup = here({ phase: 'Completed', location: 'other' })
    assert.deepEqual(decideName({ location: 'ours', backup, isDeletionRequested: false }), {
      type: 'conflict',
      with: 'other',
    })
  })

  it('is being deleted until the request is processed', () => {
    const request = (phase?: 'New' | 'InProgress' | 'Processed'): DeleteBackupRequest => ({
      apiVersion: 'velero.io/v1',
      kind: 'DeleteBackupRequest',
      metadata: {},
      spec: { backupName: 'one' },
      ...(phase !== undefined && { status: { phase } }),
    })
    const open = [undefined, 'New', 'InProgress', 'Processed'] as const
    assert.deepEqual(
      open.map(phase => isOpenRequest(request(phase))),
      [true, true, true, false],
    )
  })
})

describe('a backup whose folder is gone', () => {
  const goes = (phase: BackupPhase, of: { location?: string; synced?: boolean } = {}) => {
    const backup = stored({ phase }, {}, { storageLocation: of.location ?? 'ours' })
    return goesWithFolder(of.synced ? withSyncedState(backup, 'true') : backup, 'ours')
  }

  it('goes when it had one: Completed and PartiallyFailed', () => {
    assert.ok(goes('Completed'))
    assert.ok(goes('PartiallyFailed'))
  })

  it('goes when it failed elsewhere, and stays when it failed here', () => {
    assert.ok(goes('Failed', { synced: true }))
    assert.ok(!goes('Failed'))
  })

  it('stays while it is worked on, deleted or never began', () => {
    const phases: BackupPhase[] = [
      'New',
      'Queued',
      'InProgress',
      'Finalizing',
      'Deleting',
      'FailedValidation',
    ]
    for (const phase of phases) assert.ok(!goes(phase, { synced: true }), phase)
  })

  it('stays when it is in another location', () => {
    assert.ok(!goes('Completed', { location: 'other' }))
  })
})
