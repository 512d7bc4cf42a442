import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BackupGroup, isGroupOf, isHalfKept } from './backup-groups.ts'
import { groupSnapshotName } from './claim-group.ts'
import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent } from './group-snapshot-kinds.ts'
import type { DeletionPolicy, VolumeSnapshotContent } from './snapshot-kinds.ts'

it('a group snapshot is of the backup that gave its name, and not of the one whose label somebody copied', () => {
  const group = { namespace: 'shop', label: 'tier', value: 'orders' }
  const named = (name: string, uid = 'b'): VolumeGroupSnapshot => ({
    apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
    kind: 'VolumeGroupSnapshot',
    metadata: { name, namespace: 'shop', labels: { 'velero.io/backup-uid': uid } },
    spec: { source: { selector: { matchLabels: { tier: 'orders' } } } },
  })
  assert.equal(isGroupOf(named(groupSnapshotName('b', group)), 'b'), true)
  assert.equal(isGroupOf(named('copied'), 'b'), false)
  assert.equal(isGroupOf(named(groupSnapshotName('b', group), 'c'), 'c'), false)
  assert.equal(isGroupOf(named(groupSnapshotName('', group), ''), ''), false)
})

describe('a group that somebody began to remove', () => {
  /** Of a group of two snapshots. */
  function remains(
    left: { policy?: DeletionPolicy; handle?: string; members?: string[]; group?: 'there' | 'going' } = {},
  ): BackupGroup {
    const { policy = 'Retain', handle = 'g', members = [], group } = left
    const content: VolumeGroupSnapshotContent = {
      ...{ apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2', kind: 'VolumeGroupSnapshotContent' },
      metadata: { name: 'groupsnapcontent-g' },
      spec: { deletionPolicy: policy, driver: 'disk.example', source: {}, volumeGroupSnapshotRef: {} },
      status: {
        ...(handle && { volumeGroupSnapshotHandle: handle }),
        volumeSnapshotInfoList: [{ snapshotHandle: 'one' }, { snapshotHandle: 'two' }],
      },
    }
    const contents = members.map(
      (name): VolumeSnapshotContent => ({
        ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotContent', metadata: { name } },
        spec: {
          ...{ deletionPolicy: policy, driver: 'disk.example', source: {} },
          volumeSnapshotRef: { namespace: 'shop', name },
        },
      }),
    )
    const metadata = {
      name: 'group',
      ...(group === 'going' && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    }
    const snapshot = { apiVersion: '', kind: 'VolumeGroupSnapshot', metadata, spec: { source: {} } }
    return { group: group && snapshot, content, snapshots: [], contents }
  }

  it('was kept when its policy says so and not all of its snapshots are known any more', () => {
    assert.equal(isHalfKept(remains()), true)
    assert.equal(isHalfKept(remains({ members: ['one'] })), true)
    assert.equal(isHalfKept(remains({ members: ['one'], group: 'going' })), true)
  })

  it('is judged by its snapshots as long as all of them are known, or it is still whole', () => {
    assert.equal(isHalfKept(remains({ members: ['one', 'two'] })), false)
    assert.equal(isHalfKept(remains({ members: ['one'], group: 'there' })), false)
  })

  it('was not kept when its policy does not say so, or the storage never had it', () => {
    assert.equal(isHalfKept(remains({ policy: 'Delete' })), false)
    assert.equal(isHalfKept(remains({ handle: '' })), false)
  })
})
