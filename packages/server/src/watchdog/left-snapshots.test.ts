import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupPhase } from '@lateen/api'
import { claimSnapshotName } from '../csi/claim-snapshot-name.ts'
import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import { leftFindings, leftSnapshots, ownerlessFindings, ownerlessSnapshots } from './left-snapshots.ts'

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
    const told = (phase: BackupPhase) => leftFindings(leftSnapshots([snapshot()], [backup(phase)]))[0]
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

  it('without an owner were deleted from the storage by the command, though a bucket that was detached had their backup', () => {
    const one = snapshot()
    one.metadata.labels = { ...one.metadata.labels, 'velero.io/backup-name': 'nightly' }
    for (const areAll of [true, false]) {
      const [finding, ...others] = ownerlessFindings([one], { areAll })
      assert.deepEqual(others, [])
      assert.match(finding?.problem ?? '', /a bucket may still have that backup/)
      assert.match(
        finding?.mend ?? '',
        /^kubectl patch volumesnapshotcontent snapcontent-1 .*"Retain".* && kubectl delete volumesnapshotcontent snapcontent-1 /,
      )
      assert.doesNotMatch(finding?.mend ?? '', /"Delete"/)
    }
  })

  it('with a group could not be deleted by the command, which waited for ever: they go with their group', () => {
    const member = (name: string): VolumeSnapshot => {
      const one = snapshot(name)
      const owner = { apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2', kind: 'VolumeGroupSnapshot' }
      one.metadata.ownerReferences = [{ ...owner, name: 'all', uid: 'g-1' }]
      one.status = { boundVolumeSnapshotContentName: `snapcontent-${name}`, volumeGroupSnapshotName: 'all' }
      return one
    }
    const members = [member('one'), member('two')]
    const told = (phase: BackupPhase) =>
      leftFindings(leftSnapshots([...members, snapshot()], [backup(phase)]))
    const [kept, alone, ...others] = told('Completed')
    assert.deepEqual(others, [])
    assert.match(alone?.subject ?? '', /^VolumeSnapshot shop\/velero-data-/)
    assert.equal(kept?.subject, 'VolumeGroupSnapshot shop/all, with 2 VolumeSnapshots,')
    const retain = `--type merge --patch '{"spec":{"deletionPolicy":"Retain"}}'`
    assert.deepEqual(kept?.mend.split(' && '), [
      `kubectl patch volumegroupsnapshotcontent groupsnapcontent-g-1 ${retain}`,
      `kubectl patch volumesnapshotcontent snapcontent-one ${retain}`,
      `kubectl patch volumesnapshotcontent snapcontent-two ${retain}`,
      'kubectl delete volumegroupsnapshot all --namespace shop',
      'kubectl delete volumesnapshotcontent snapcontent-one snapcontent-two --ignore-not-found --wait=false',
      'kubectl delete volumegroupsnapshotcontent groupsnapcontent-g-1 --ignore-not-found --wait=false',
    ])
    const failed = told('Failed')[0]?.mend ?? ''
    assert.match(failed, /^kubectl patch volumegroupsnapshotcontent groupsnapcontent-g-1 .*"Delete"/)
    assert.match(failed, / && kubectl delete volumegroupsnapshot all --namespace shop$/)
    assert.equal(ownerlessFindings(members, { areAll: true }).length, 1)
  })

  it('and do not tell of their content were deleted from the storage with their objects', () => {
    const { status: _, ...unbound } = snapshot()
    unbound.metadata.uid = 's-1'
    const [finding] = leftFindings([{ snapshot: unbound, backup: backup('Completed') }])
    const { problem = '', mend = '' } = finding ?? {}
    assert.match(mend, /^kubectl patch volumesnapshotcontent snapcontent-s-1 .*"Retain".* && kubectl delete /)
    assert.match(problem, /the last of these commands is enough/)
  })
})
