import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { type KubeObject, systemClock } from '@lateen/kube'
import { type ObjectServerOptions, startObjectServer } from '../../../../../tools/test/object-server.ts'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import { groupSnapshotName } from '../../csi/claim-group.ts'
import { groupHandlesAnnotation } from '../../csi/group-members.ts'
import { VolumeGroupSnapshotContentKind, VolumeGroupSnapshotKind } from '../../csi/group-snapshot-kinds.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { removeSnapshots } from './clean-up-snapshots.ts'

const backup: Backup = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup', spec: {}, status: { phase: 'Completed' } },
  metadata: { namespace: 'velero', name: 'nightly', uid: 'b' },
}
const labels = { 'velero.io/backup-uid': 'b' }
const apiVersion = 'snapshot.storage.k8s.io/v1'
const groupVersion = 'groupsnapshot.storage.k8s.io/v1beta2'
const name = groupSnapshotName('b', { namespace: 'shop', label: 'tier', value: 'orders' })
const members = ['one', 'two']
const groupKey = `volumegroupsnapshots/shop/${name}`
const groupContentKey = 'volumegroupsnapshotcontents//groupsnapcontent-g'
const contentKey = (member: string) => `volumesnapshotcontents//snapcontent-${member}`

const group = {
  ...{ apiVersion: groupVersion, kind: 'VolumeGroupSnapshot' },
  metadata: { namespace: 'shop', name, uid: 'g', labels },
  spec: { source: { selector: { matchLabels: { tier: 'orders' } } } },
}

function groupContent(deletionPolicy: string, { isTaken = true } = {}): KubeObject {
  return {
    ...{ apiVersion: groupVersion, kind: 'VolumeGroupSnapshotContent' },
    metadata: { name: 'groupsnapcontent-g', uid: 'gc', labels },
    spec: { deletionPolicy, driver: 'disk.example', volumeGroupSnapshotRef: { uid: 'g' } },
    ...(isTaken && {
      status: {
        volumeGroupSnapshotHandle: 'handle-g',
        volumeSnapshotInfoList: members.map(snapshotHandle => ({ snapshotHandle })),
      },
    }),
  } as KubeObject
}

function snapshotOf(member: string): KubeObject {
  const owner = { apiVersion: groupVersion, kind: 'VolumeGroupSnapshot', name, uid: 'g' }
  return {
    ...{ apiVersion, kind: 'VolumeSnapshot' },
    metadata: { namespace: 'shop', name: member, uid: member, labels, ownerReferences: [owner] },
    spec: { source: { persistentVolumeClaimName: member } },
    status: { volumeGroupSnapshotName: name },
  } as KubeObject
}

function contentOf(member: string): KubeObject {
  const annotations = { [groupHandlesAnnotation]: members.join(',') }
  return {
    ...{ apiVersion, kind: 'VolumeSnapshotContent' },
    metadata: { name: `snapcontent-${member}`, uid: `c-${member}`, labels, annotations },
    spec: {
      ...{ deletionPolicy: 'Delete', driver: 'disk.example', source: { volumeHandle: `v-${member}` } },
      volumeSnapshotRef: { namespace: 'shop', name: member, uid: member },
    },
    status: { snapshotHandle: member, volumeGroupSnapshotHandle: 'handle-g' },
  } as KubeObject
}

const whole: [string, KubeObject][] = [
  [groupKey, group],
  [groupContentKey, groupContent('Delete')],
  ...members.flatMap((member): [string, KubeObject][] => [
    [`volumesnapshots/shop/${member}`, snapshotOf(member)],
    [contentKey(member), contentOf(member)],
  ]),
]

const policyOf = (object: KubeObject | undefined) =>
  (object as { spec: { deletionPolicy: string } } | undefined)?.spec.deletionPolicy

/** A cluster with objects, and the policies with which contents were deleted, last. */
async function given(
  objects: [string, KubeObject][],
  before: ObjectServerOptions['before'] = () => undefined,
) {
  const policies = new Map<string, string | undefined>()
  const server = await startObjectServer({
    kinds: [
      ...[VolumeSnapshotKind, VolumeSnapshotContentKind],
      ...[VolumeGroupSnapshotKind, VolumeGroupSnapshotContentKind],
    ],
    async before(request, there) {
      const [method, key = ''] = request.split(' ')
      if (method === 'DELETE' && key.includes('contents/')) policies.set(key, policyOf(there.get(key)))
      await before(request, there)
    },
  })
  for (const [key, object] of objects) server.objects.set(key, object)
  return { ...server, policies }
}

type Given = Awaited<ReturnType<typeof given>>

/** Removes what there is. The archive has the first snapshot of the group, or none. */
function removed(
  { client }: Given,
  { isNeeded, signal = new AbortController().signal }: { isNeeded: boolean; signal?: AbortSignal },
) {
  const list = { 'snapshot.storage.k8s.io/v1/VolumeSnapshot': isNeeded ? ['shop/one'] : [] }
  const store = { getJson: async () => list } as unknown as BackupStore
  return removeSnapshots({ backup, store }, { client, clock: systemClock }, signal)
}

describe('the objects of a group of snapshots when a backup is over', () => {
  it('go, and the group stays in the storage where the archive has one of its snapshots', async () => {
    for (const isNeeded of [true, false]) {
      await using server = await given(whole)
      assert.deepEqual(await removed(server, { isNeeded }), [])
      assert.deepEqual([...server.objects.keys()], [])
      const expected = isNeeded ? 'Retain' : 'Delete'
      assert.equal(server.policies.get(groupContentKey), expected)
      assert.deepEqual(
        members.map(member => server.policies.get(contentKey(member))),
        [expected, expected],
      )
    }
  })

  it('do not take the snapshots along when only the VolumeGroupSnapshotContent is left of a group that was kept', async () => {
    await using server = await given([[groupContentKey, groupContent('Retain')]])
    await removed(server, { isNeeded: true })
    assert.deepEqual([...server.objects.keys()], [])
    assert.equal(server.policies.get(groupContentKey), 'Retain')
  })

  it('take them along when only that is left of a group that was not kept, or was never taken', async () => {
    for (const content of [groupContent('Delete'), groupContent('Retain', { isTaken: false })]) {
      await using server = await given([[groupContentKey, content]])
      await removed(server, { isNeeded: false })
      assert.deepEqual([...server.objects.keys()], [])
      assert.equal(server.policies.get(groupContentKey), 'Delete')
    }
  })

  /** Whether somebody died who could send so many requests, and was followed by somebody who removed the rest. */
  async function diesAfter(requests: number, now: { isNeeded: boolean; isLater: boolean }): Promise<boolean> {
    const { isNeeded, isLater } = now
    const dying = new AbortController()
    let count = 0
    let held: KubeObject | undefined
    await using server = await given(whole, (request, objects) => {
      count += 1
      if (request === `DELETE ${groupContentKey}`) held = objects.get(groupContentKey)
      if (count === requests) dying.abort(new Error('died'))
    })
    const { objects, policies } = server
    const hasDied = await removed(server, { isNeeded, signal: dying.signal }).then(
      () => false,
      () => true,
    )
    if (isLater) {
      // Kubernetes deletes the snapshots of a group that is gone, and the driver's snapshotter holds the content of the group.
      if (!objects.has(groupKey))
        for (const member of members) objects.delete(`volumesnapshots/shop/${member}`)
      const deletionTimestamp = '2026-01-01T00:00:00Z'
      if (held) objects.set(groupContentKey, { ...held, metadata: { ...held.metadata, deletionTimestamp } })
    }
    await removed(server, { isNeeded })
    const at = `died after ${requests} requests: ${JSON.stringify(now)}`
    assert.deepEqual([...objects.keys()], [], at)
    const expected = isNeeded ? 'Retain' : 'Delete'
    assert.equal(policies.get(groupContentKey), expected, at)
    assert.equal(policies.get(contentKey('one')), expected, at)
    return hasDied
  }

  it('leave what the backup needs in the storage, and nothing else, whenever whoever removes them dies', async () => {
    for (const isNeeded of [true, false]) {
      for (const isLater of [true, false]) {
        let deaths = 0
        while (await diesAfter(deaths + 1, { isNeeded, isLater })) deaths += 1
        assert.ok(deaths > 10)
      }
    }
  })
})
