import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type {
  Backup,
  BackupStatus,
  BackupStorageLocation,
  DeleteBackupRequest,
  DeleteBackupRequestPhase,
  Restore,
  RestorePhase,
} from '@lateen/api'
import { BackupKind, formatTime, RestoreKind } from '@lateen/api'
import { decideDeletion, hasBegun, type ObservedDeletion } from './decide-deletion.ts'

const hour = 3_600_000
const now = Date.parse('2026-03-01T12:00:00Z')

function request(
  phase?: DeleteBackupRequestPhase,
  { name = 'b-1', age = 60_000, uid }: { name?: string; age?: number; uid?: string } = {},
): DeleteBackupRequest {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'DeleteBackupRequest',
    metadata: {
      name,
      namespace: 'velero',
      creationTimestamp: formatTime(now - age),
      ...(uid !== undefined && { labels: { 'velero.io/backup-uid': uid } }),
    },
    spec: { backupName: 'b' },
    ...(phase && { status: { phase } }),
  }
}

function backup(status: BackupStatus = { phase: 'Completed', startTimestamp: formatTime(now) }): Backup {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'b', namespace: 'velero', uid: 'u', creationTimestamp: formatTime(now - hour) },
    spec: { storageLocation: 'default' },
    status,
  }
}

const deleting = backup({ phase: 'Deleting', startTimestamp: formatTime(now) })

function location(
  spec: Partial<BackupStorageLocation['spec']> = {},
  phase: 'Available' | 'Unavailable' = 'Available',
): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace: 'velero' },
    spec: { provider: 'aws', objectStorage: { bucket: 'x' }, ...spec },
    status: { phase },
  }
}

function restore(phase: RestorePhase, deletionTimestamp?: string): Restore {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name: 'r', namespace: 'velero', ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { backupName: 'b' },
    status: { phase },
  }
}

function decide(changes: Partial<ObservedDeletion>) {
  return decideDeletion({
    requests: [request()],
    backupName: 'b',
    backup: backup(),
    location: location(),
    restores: [],
    isBusy: false,
    seenSince: now - hour,
    notBefore: 0,
    now,
    ...changes,
  })
}

const reasonOf = (changes: Partial<ObservedDeletion>) => {
  const decision = decide(changes)
  return decision.type === 'refuse' || decision.type === 'retry'
    ? `${decision.type}: ${decision.reason}`
    : decision.type
}

describe('a new request', () => {
  it('is taken for a backup in every phase but InProgress', () => {
    for (const phase of BackupKind.phases?.phases ?? []) {
      const expected = phase === 'InProgress' ? 'refuse' : 'take'
      assert.equal(
        decide({ backup: backup({ phase, startTimestamp: formatTime(now) }) }).type,
        expected,
        phase,
      )
    }
    assert.equal(decide({ backup: backup({}) }).type, 'take')
  })

  it('waits a moment for a backup in progress: the server that took it may have died', () => {
    const running = backup({ phase: 'InProgress', startTimestamp: formatTime(now) })
    assert.equal(decide({ backup: running, seenSince: now - 100 }).type, 'wait')
    assert.equal(reasonOf({ backup: running }), 'refuse: backup is still in progress')
  })

  it('is refused in the words of Velero', () => {
    const name = 'backup storage location default'
    assert.equal(reasonOf({ backupName: '' }), 'refuse: spec.backupName is required')
    assert.equal(reasonOf({ backup: undefined }), 'refuse: backup not found')
    assert.equal(reasonOf({ location: undefined }), `refuse: ${name} not found`)
    assert.equal(
      reasonOf({ location: location({ accessMode: 'ReadOnly' }) }),
      `refuse: cannot delete backup because ${name} is currently in read-only mode`,
    )
    assert.equal(
      reasonOf({ location: location({}, 'Unavailable') }),
      `refuse: cannot delete backup because ${name} is currently in Unavailable state`,
    )
  })

  it('needs no location for a backup that never began', () => {
    const statuses: BackupStatus[] = [
      { phase: 'FailedValidation' },
      { phase: 'Queued' },
      { phase: 'Failed', failureReason: 'backup already exists in object storage' },
    ]
    for (const status of statuses) {
      assert.equal(decide({ backup: backup(status), location: undefined }).type, 'take', status.phase)
    }
  })

  it('is not about another backup of the same name', () => {
    assert.match(reasonOf({ requests: [request('New', { uid: 'other' })] }), /^refuse: backup not found/)
    assert.equal(reasonOf({ requests: [request('New', { uid: 'u' })] }), 'take')
  })

  it('about another one does not end the deletion that has begun', () => {
    const begun = request('InProgress', { name: 'a', age: hour, uid: 'u' })
    assert.match(
      reasonOf({ requests: [begun, request('New', { uid: 'other' })], backup: deleting }),
      /^refuse: backup not found/,
    )
    const refused = request('Processed', { uid: 'other' })
    assert.deepEqual(decide({ requests: [begun, refused], backup: deleting }), {
      type: 'remove-requests',
      requests: [refused],
    })
  })

  it('takes the place of older ones, whatever became of those', () => {
    const older = [
      request('InProgress', { name: 'a', age: 2 * hour }),
      request('Processed', { name: 'c', age: hour }),
    ]
    assert.deepEqual(decide({ requests: [...older, request()] }), {
      type: 'remove-requests',
      requests: older,
    })
  })
})

describe('a request that was taken', () => {
  const requests = [request('InProgress', { uid: 'u' })]

  it('marks the backup before anything is removed', () => {
    assert.equal(decide({ requests }).type, 'mark')
    assert.equal(decide({ requests, isBusy: true }).type, 'mark')
  })

  it('keeps in mind that a backup has files, which its phase does not tell any more', () => {
    const decision = decide({ requests, backup: backup({ phase: 'PartiallyFailed' }) })
    assert.ok(decision.type === 'mark' && hasBegun(decision.backup))
    // One that is made up would be that of another backup.
    assert.equal(decision.backup.status?.startTimestamp, undefined)
    const never = decide({ requests, backup: backup({ phase: 'FailedValidation' }) })
    assert.ok(never.type === 'mark' && !hasBegun(never.backup))
  })

  it('waits while others work on the backup, or for the next attempt', () => {
    assert.equal(decide({ requests, backup: deleting, isBusy: true }).type, 'wait')
    assert.equal(decide({ requests, backup: backup({ phase: 'InProgress' }) }).type, 'wait')
    assert.deepEqual(decide({ requests, backup: deleting, notBefore: now + 5 }), { type: 'wait', afterMs: 5 })
    assert.equal(decide({ requests, backup: deleting }).type, 'delete')
  })

  it('waits for restores that have begun and not ended', () => {
    const waitsFor = RestoreKind.phases?.phases.filter(
      phase => decide({ requests, backup: deleting, restores: [restore(phase)] }).type === 'wait',
    )
    assert.deepEqual(waitsFor, [
      'InProgress',
      'WaitingForPluginOperations',
      'WaitingForPluginOperationsPartiallyFailed',
      'Finalizing',
      'FinalizingPartiallyFailed',
    ])
    const gone = [restore('InProgress', formatTime(now))]
    assert.equal(decide({ requests, backup: deleting, restores: gone }).type, 'delete')
  })

  it('waits a moment for a restore that may be about to begin', () => {
    const restores = [restore('New')]
    assert.equal(decide({ requests, backup: deleting, restores, seenSince: now - 100 }).type, 'wait')
  })

  it('is tried again while the location cannot be used', () => {
    assert.match(reasonOf({ requests, backup: deleting, location: undefined }), /^retry: .* not found/)
    assert.match(
      reasonOf({ requests, backup: deleting, location: location({}, 'Unavailable') }),
      /^retry: .*Unavailable/,
    )
  })

  it('that was repeated while the location was away left the backup Deleting for ever: the repeated one is taken', () => {
    const again = request('New', { name: 'b-2', age: 0 })
    const places = [undefined, location({}, 'Unavailable'), location({ accessMode: 'ReadOnly' })]
    for (const place of places) {
      const observed = { backup: deleting, location: place }
      assert.deepEqual(decide({ ...observed, requests: [...requests, again] }), {
        type: 'remove-requests',
        requests,
      })
      assert.equal(decide({ ...observed, requests: [again] }).type, 'take')
      const taken = { ...again, status: { phase: 'InProgress' as const } }
      assert.match(reasonOf({ ...observed, requests: [taken] }), /^retry: /)
    }
  })

  it('is over when the backup is gone, and so are those that came after it', () => {
    const all = [...requests, request('New', { name: 'b-2', age: 0 })]
    const decision = decide({ requests: all, backup: undefined })
    assert.ok(decision.type === 'remove-requests' && decision.requests.length === 2)
    const other = { ...deleting, metadata: { ...deleting.metadata, uid: 'other' } }
    assert.deepEqual(decide({ requests, backup: other }), { type: 'remove-requests', requests })
  })
})

describe('a request that was processed', () => {
  it('goes after a day', () => {
    const requests = [request('Processed', { age: 23 * hour })]
    assert.deepEqual(decide({ requests }), { type: 'wait', afterMs: hour })
    assert.deepEqual(decide({ requests, now: now + hour }), { type: 'remove-requests', requests })
    assert.equal(decide({ requests: [] }).type, 'ignore')
  })
})
