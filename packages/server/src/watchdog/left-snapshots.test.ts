import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase, BackupStorageLocation } from '@lateen/api'
import { claimSnapshotName } from '../csi/claim-snapshot-name.ts'
import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import {
  leftSnapshotFinding,
  leftSnapshots,
  ownerlessSnapshotFinding,
  ownerlessSnapshots,
  type PossibleOwners,
} from './left-snapshots.ts'

function backup(phase: BackupPhase, uid = 'u-1'): Backup {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'nightly', namespace: 'velero', uid },
    spec: {},
    status: { phase, completionTimestamp: '2026-11-16T06:00:00Z' },
  }
}

function snapshot(
  name = claimSnapshotName({ backupUid: 'u-1', namespace: 'shop', claim: 'data' }),
): VolumeSnapshot {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name, namespace: 'shop', labels: { 'velero.io/backup-uid': 'u-1' } },
    spec: { source: { persistentVolumeClaimName: 'data' } },
    status: { boundVolumeSnapshotContentName: 'snapcontent-1' },
  }
}

describe('snapshots that are left in the cluster', () => {
  it('are those of backups that have ended, and neither of running ones nor of others', () => {
    const count = (phase: BackupPhase, uid?: string) =>
      leftSnapshots([snapshot()], [backup(phase, uid)]).length
    for (const phase of ['Completed', 'PartiallyFailed', 'Failed'] as const)
      assert.equal(count(phase), 1, phase)
    for (const phase of ['InProgress', 'WaitingForPluginOperations', 'Finalizing', 'Deleting'] as const) {
      assert.equal(count(phase), 0, phase)
    }
    assert.equal(count('Completed', 'u-2'), 0)
    assert.equal(leftSnapshots([snapshot('copied-by-hand')], [backup('Completed')]).length, 0)
  })

  it('are told with the commands that remove them and do to the snapshot in the storage what the backup needs', () => {
    const told = (phase: BackupPhase) =>
      leftSnapshots([snapshot()], [backup(phase)]).map(leftSnapshotFinding)[0]
    const good = told('Completed')
    assert.match(good?.problem ?? '', /VolumeSnapshotContent snapcontent-1, after the end of Backup nightly/)
    assert.match(
      good?.mend ?? '',
      /"Retain".* && kubectl delete volumesnapshotcontent snapcontent-1 .* && kubectl delete volumesnapshot velero-data-/,
    )
    const failed = told('Failed')
    assert.match(failed?.mend ?? '', /"Delete"\}\}' && kubectl delete volumesnapshot velero-data-/)
    assert.doesNotMatch(failed?.mend ?? '', /delete volumesnapshotcontent/)
  })

  it('are told of when their backup was deleted before it came to its end, once nobody can be at work on them', () => {
    const created = Date.parse('2026-11-16T06:00:00Z')
    const one = snapshot()
    one.metadata.creationTimestamp = '2026-11-16T06:00:00Z'
    one.metadata.labels = { ...one.metadata.labels, 'velero.io/backup-name': 'nightly' }
    const later = (hours: number) => created + hours * 3_600_000
    const count = (backups: Backup[], hours: number) =>
      ownerlessSnapshots([one], backups, later(hours)).length
    assert.equal(count([], 25), 1)
    assert.equal(count([], 2), 0)
    assert.equal(count([backup('Finalizing')], 25), 0)
    const copied = { ...one, metadata: { ...one.metadata, name: 'copied-by-hand' } }
    assert.equal(ownerlessSnapshots([copied], [], later(25)).length, 0)
  })

  it('without an owner are kept in the storage unless it is known that no backup needs them', () => {
    const location = (
      phase: 'Available' | 'Unavailable',
      lastSyncedTime?: string,
    ): BackupStorageLocation => ({
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'default', namespace: 'other' },
      spec: { provider: 'aws', objectStorage: { bucket: 'b' } },
      status: { phase, ...(lastSyncedTime && { lastSyncedTime }) },
    })
    const synced = location('Available', '2026-11-16T06:00:00Z')
    const one = snapshot()
    one.metadata.labels = { ...one.metadata.labels, 'velero.io/backup-name': 'nightly' }
    const told = (owners: Partial<PossibleOwners>) =>
      ownerlessSnapshotFinding(one, { backups: [], locations: [synced], areAll: true, ...owners })
    const unneeded = told({})
    assert.match(unneeded.problem, /no backup that is known here needs the snapshot in the storage/)
    assert.match(unneeded.mend, /"Delete"\}\}' && kubectl delete volumesnapshot velero-data-/)
    const needed: [Partial<PossibleOwners>, RegExp][] = [
      // It came back from the bucket.
      [{ backups: [backup('Completed', 'u-2')] }, /there is one of its name/],
      [{ areAll: false }, /may not look at all namespaces/],
      [
        { locations: [synced, location('Unavailable', '2026-11-16T06:00:00Z')] },
        /other\/default.* is not Available/,
      ],
      [{ locations: [location('Available')] }, /was not looked through yet/],
      [{ locations: [] }, /no storage location/],
    ]
    for (const [owners, reason] of needed) {
      const { problem, mend } = told(owners)
      assert.match(problem, reason)
      assert.match(
        mend,
        /^kubectl patch volumesnapshotcontent snapcontent-1 .*"Retain".* && kubectl delete volumesnapshotcontent snapcontent-1 /,
      )
    }
  })

  it('and do not tell of their content were deleted from the storage with their objects', () => {
    const { status: _, ...unbound } = snapshot()
    unbound.metadata.uid = 's-1'
    const { problem, mend } = leftSnapshotFinding({ snapshot: unbound, backup: backup('Completed') })
    assert.match(mend, /^kubectl patch volumesnapshotcontent snapcontent-s-1 .*"Retain".* && kubectl delete /)
    assert.match(problem, /the last of these commands is enough/)
  })
})
