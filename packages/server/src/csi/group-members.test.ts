import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type GroupState, handlesWhenComplete } from './group-members.ts'

function member(handle: string | undefined, group: string | undefined = 'g'): GroupState['members'][number] {
  return {
    snapshot: {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name: `of-${handle}` },
      spec: { source: {} },
    },
    content: {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: `content-${handle}` },
      spec: { deletionPolicy: 'Delete', driver: 'd', source: {}, volumeSnapshotRef: {} },
      status: {
        ...(handle && { snapshotHandle: handle }),
        ...(group && { volumeGroupSnapshotHandle: group }),
      },
    },
  }
}

function content(handle: string | undefined, handles: string[]): GroupState['content'] {
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
    kind: 'VolumeGroupSnapshotContent',
    metadata: { name: 'content' },
    spec: { deletionPolicy: 'Delete', driver: 'd', source: {}, volumeGroupSnapshotRef: {} },
    status: {
      ...(handle && { volumeGroupSnapshotHandle: handle }),
      volumeSnapshotInfoList: handles.map(snapshotHandle => ({ snapshotHandle })),
    },
  }
}

describe('a group snapshot', () => {
  it('is complete when every snapshot that the driver took has its objects', () => {
    const members = [member('b'), member('a')]
    assert.deepEqual(handlesWhenComplete({ content: content('g', ['a', 'b']), members }), ['a', 'b'])
  })

  it('is not before the driver has told its handles', () => {
    const members = [member('a')]
    assert.equal(handlesWhenComplete({ content: undefined, members }), undefined)
    assert.equal(handlesWhenComplete({ content: content(undefined, ['a']), members }), undefined)
    assert.equal(handlesWhenComplete({ content: content('g', []), members: [] }), undefined)
  })

  it('is not while a snapshot has no object yet, or one that does not say what it is of', () => {
    const whole = content('g', ['a', 'b'])
    assert.equal(handlesWhenComplete({ content: whole, members: [member('a')] }), undefined)
    assert.equal(
      handlesWhenComplete({ content: whole, members: [member('a'), member(undefined)] }),
      undefined,
    )
    assert.equal(handlesWhenComplete({ content: whole, members: [member('a'), member('b', '')] }), undefined)
    const bare = { ...member('b'), content: undefined }
    assert.equal(handlesWhenComplete({ content: whole, members: [member('a'), bare] }), undefined)
  })
})
