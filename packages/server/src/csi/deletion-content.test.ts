import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import {
  contentFinalizer,
  deletionContent,
  deletionContentName,
  groupDeletionContent,
  nextDeletionMove,
} from './deletion-content.ts'
import type { VolumeSnapshotContent } from './snapshot-kinds.ts'

function backup(uid: string): Backup {
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'nightly', uid }, spec: {} }
}

const snapshot = { driver: 'disks.example.com', handle: 'snap-1', contentUid: 'c-uid' }

describe('the content by which a snapshot is deleted', () => {
  const content = deletionContent(backup('b-uid'), snapshot, 'fast')

  it('has a uuid in its name, the same each time, and another for another backup, driver or handle', () => {
    const name = deletionContentName(backup('b-uid'), snapshot)
    assert.match(name, /^vsc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(content.metadata.name, name)
    assert.notEqual(deletionContentName(backup('other'), snapshot), name)
    assert.notEqual(deletionContentName(backup('b-uid'), { ...snapshot, handle: 'snap-2' }), name)
    assert.notEqual(deletionContentName(backup('b-uid'), { ...snapshot, driver: 'files.example.com' }), name)
  })

  it('deletes, and refers to a VolumeSnapshot that cannot exist', () => {
    assert.equal(content.spec.deletionPolicy, 'Delete')
    assert.deepEqual(content.spec.source, { snapshotHandle: 'snap-1' })
    assert.deepEqual(content.spec.volumeSnapshotRef, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      namespace: 'ns-c-uid',
      name: 'name-c-uid',
    })
    assert.equal(content.spec.volumeSnapshotClassName, 'fast')
  })

  it('is held from the beginning until its driver has deleted the snapshot', () => {
    assert.deepEqual(content.metadata.finalizers, [contentFinalizer])
  })

  it('names the Secret that the driver needs', () => {
    const secret = { namespace: 'storage', name: 'key' }
    assert.deepEqual(
      deletionContent(backup('b-uid'), { ...snapshot, secret }, undefined).metadata.annotations,
      {
        'snapshot.storage.kubernetes.io/deletion-secret-name': 'key',
        'snapshot.storage.kubernetes.io/deletion-secret-namespace': 'storage',
      },
    )
  })

  it('refers to something of its own where the uid of the first content is not known', () => {
    const { spec } = deletionContent(backup('b-uid'), { ...snapshot, contentUid: '' }, undefined)
    assert.match(spec.volumeSnapshotRef.namespace ?? '', /^ns-[0-9a-f-]{36}$/)
  })
})

describe('the content by which a group of snapshots is deleted', () => {
  it('names the group and all its members, and is held like that of one snapshot', () => {
    const members = [
      snapshot,
      { ...snapshot, handle: 'snap-2', secret: { namespace: 'storage', name: 'key' } },
    ]
    const { metadata, spec } = groupDeletionContent(backup('b-uid'), {
      ...{ driver: 'disks.example.com', handle: 'group-1', members },
      handles: ['snap-1', 'snap-2', 'snap-3'],
    })
    assert.match(metadata.name ?? '', /^vsc-[0-9a-f-]{36}$/)
    assert.deepEqual(metadata.finalizers, [
      'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection',
    ])
    assert.deepEqual(metadata.annotations, {
      'groupsnapshot.storage.kubernetes.io/deletion-secret-name': 'key',
      'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace': 'storage',
    })
    assert.equal(spec.deletionPolicy, 'Delete')
    assert.deepEqual(spec.source.groupSnapshotHandles, {
      volumeGroupSnapshotHandle: 'group-1',
      volumeSnapshotHandles: ['snap-1', 'snap-2', 'snap-3'],
    })
    assert.equal(spec.volumeGroupSnapshotRef.uid, undefined)
  })
})

describe('what is done next about the content by which a snapshot is deleted', () => {
  const now = (
    status: VolumeSnapshotContent['status'] | undefined,
    more: { asked?: boolean; isLate?: boolean; deleted?: boolean } = {},
  ) => {
    const made = deletionContent(backup('b-uid'), snapshot, undefined)
    const content = {
      ...made,
      metadata: { ...made.metadata, ...(more.deleted && { deletionTimestamp: '2030-01-01T00:00:00Z' }) },
      ...(status && { status }),
    }
    return nextDeletionMove({ content, asked: more.asked ?? false, isLate: more.isLate ?? false })
  }
  const absent = (asked: boolean, isLate = false) => nextDeletionMove({ content: undefined, asked, isLate })
  const ready = { snapshotHandle: 'snap-1', readyToUse: true }

  it('it is created when it is not there, and gone only when it was deleted in a state in which the driver is asked', () => {
    assert.equal(absent(false), 'create')
    assert.equal(absent(true), 'gone')
    assert.equal(absent(true, true), 'gone')
    assert.equal(absent(false, true), 'give-up')
  })

  it('it is not deleted before the snapshotter has noted a handle, for then the snapshot would stay', () => {
    assert.equal(now(undefined), 'wait')
    assert.equal(now({}), 'wait')
    assert.equal(now({ snapshotHandle: 'snap-1', readyToUse: false }), 'wait')
    assert.equal(now(ready), 'delete')
  })

  it('a driver that cannot look at the snapshot is asked to delete it all the same', () => {
    assert.equal(now({ readyToUse: false, error: { message: 'can not find snapshot' } }), 'note-handle')
  })

  it('a member of a group is no member any more before it is deleted', () => {
    assert.equal(now({ ...ready, volumeGroupSnapshotHandle: 'g' }), 'note-handle')
  })

  it('a snapshot that is not ready in time is deleted all the same', () => {
    const status = { snapshotHandle: 'snap-1', readyToUse: false }
    assert.equal(now(status, { isLate: true }), 'note-handle')
  })

  it('a group of snapshots is deleted when its own handle is noted', () => {
    const content = groupDeletionContent(backup('b-uid'), {
      ...{ driver: 'd', handle: 'g', members: [snapshot], handles: ['snap-1'] },
    })
    const move = (status: object) =>
      nextDeletionMove({ content: { ...content, status }, asked: false, isLate: false })
    assert.equal(move({ readyToUse: true }), 'wait')
    assert.equal(move({ error: { message: 'no such group' } }), 'note-handle')
    assert.equal(move({ readyToUse: true, volumeGroupSnapshotHandle: 'g' }), 'delete')
  })

  it('nobody waits longer than the time for a snapshotter that does not come', () => {
    assert.equal(now(undefined, { isLate: true }), 'give-up')
    assert.equal(now(ready, { asked: true, deleted: true }), 'wait')
    assert.equal(now(ready, { asked: true, deleted: true, isLate: true }), 'give-up')
  })
})
