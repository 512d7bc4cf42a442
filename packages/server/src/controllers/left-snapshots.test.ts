import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Backup, type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { type Informer, type KubeClient, type KubeObject, silentLogger, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { folderBucket } from '../backup-store/testing/folder-bucket.ts'
import { groupSnapshotName } from '../csi/claim-group.ts'
import { claimSnapshotName } from '../csi/claim-snapshot-name.ts'
import { groupHandlesAnnotation } from '../csi/group-members.ts'
import { VolumeGroupSnapshotContentKind, VolumeGroupSnapshotKind } from '../csi/group-snapshot-kinds.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from '../csi/snapshot-kinds.ts'
import type { StuckGauge } from '../metrics/stuck-gauge.ts'
import { BusyKeys } from './busy-keys.ts'
import { LatestObjects } from './latest-objects.ts'
import { leftSnapshotsController } from './left-snapshots.ts'

const died: Backup = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup', spec: {}, status: { phase: 'Failed' } },
  metadata: { namespace: 'velero', name: 'died', uid: 'b' },
}
const name = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'data' })
const apiVersion = 'snapshot.storage.k8s.io/v1'
const snapshot = {
  ...{ apiVersion, kind: 'VolumeSnapshot' },
  metadata: {
    ...{ namespace: 'shop', name, uid: 'u', labels: { 'velero.io/backup-uid': 'b' } },
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { source: { persistentVolumeClaimName: 'data' } },
}
const content = {
  ...{ apiVersion, kind: 'VolumeSnapshotContent' },
  metadata: { name: 'snapcontent-u', uid: 'c' },
  spec: {
    ...{ deletionPolicy: 'Retain', driver: 'disk.example', source: { volumeHandle: 'v' } },
    volumeSnapshotRef: { namespace: 'shop', name, uid: 'u' },
  },
}

interface Sweep {
  client: KubeClient
  backup?: Backup
  ports?: LocationPorts
}

/** What does a round. */
function sweep({ client, backup = died, ports = {} as LocationPorts }: Sweep): () => Promise<unknown> {
  const informer = { list: () => [backup] } as unknown as Informer<Backup>
  const { reconcile } = leftSnapshotsController({
    ...{ client, clock: systemClock, random: Math.random, informer, ports },
    gauge: { set: () => undefined } as unknown as StuckGauge,
    backups: new LatestObjects(informer),
    busy: new BusyKeys(),
  })
  const context = { log: silentLogger, signal: new AbortController().signal, failures: 0 }
  return () => reconcile('snapshots', context)
}

it('a content that is made late for a snapshot that was removed goes in the next round, not in the tenth', async () => {
  await using server = await startObjectServer({ kinds: [VolumeSnapshotKind, VolumeSnapshotContentKind] })
  const { client, objects, requests } = server
  const round = sweep({ client })
  await round()
  objects.set(`volumesnapshots/shop/${name}`, snapshot)
  await round()
  assert.deepEqual([...objects.keys()], [])
  objects.set('volumesnapshotcontents//snapcontent-u', content)
  await round()
  assert.ok(requests.includes('PATCH volumesnapshotcontents//snapcontent-u'), 'its policy is set')
  assert.deepEqual([...objects.keys()], [])
  requests.length = 0
  await round()
  assert.ok(!requests.includes('GET volumesnapshotcontents'), 'they are not looked through each time')
})

it('a group that its driver never completed does not stay when its backup is over', async () => {
  await using server = await startObjectServer({
    kinds: [
      ...[VolumeSnapshotKind, VolumeSnapshotContentKind],
      ...[VolumeGroupSnapshotKind, VolumeGroupSnapshotContentKind],
    ],
  })
  const { client, objects } = server
  const group = { namespace: 'shop', label: 'tier', value: 'orders' }
  const groupName = groupSnapshotName('b', group)
  const named = (as: string) => ({
    ...{ apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2', kind: 'VolumeGroupSnapshot' },
    metadata: { namespace: 'shop', name: as, uid: as, labels: { 'velero.io/backup-uid': 'b' } },
    spec: { source: { selector: { matchLabels: { tier: 'orders' } } } },
  })
  for (const each of [groupName, 'copied']) objects.set(`volumegroupsnapshots/shop/${each}`, named(each))
  await sweep({ client })()
  assert.deepEqual([...objects.keys()], ['volumegroupsnapshots/shop/copied'])
})

describe('what a backup left that has ended', () => {
  const whole: Backup = {
    ...died,
    spec: { storageLocation: 'default' },
    status: { phase: 'Completed', startTimestamp: '2026-01-01T00:00:00Z' },
  }
  const snapshotKey = `volumesnapshots/shop/${name}`
  const contentKey = 'volumesnapshotcontents//snapcontent-u'

  /** What is still there after a round, and the policies with which contents went. */
  async function swept(
    t: TestContext,
    { left, stored }: { left: Record<string, KubeObject>; stored: Backup | undefined },
  ) {
    const policies: Record<string, string> = {}
    await using server = await startObjectServer({
      kinds: [
        ...[VolumeSnapshotKind, VolumeSnapshotContentKind, BackupStorageLocationKind],
        ...[VolumeGroupSnapshotKind, VolumeGroupSnapshotContentKind],
      ],
      before(request, objects) {
        const [method, key = ''] = request.split(' ')
        const { spec } = (objects.get(key) ?? {}) as { spec?: { deletionPolicy?: string } }
        if (method === 'DELETE' && spec?.deletionPolicy) policies[key] = spec.deletionPolicy
      },
    })
    const { client, objects } = server
    const { location, ports } = await bucketWith(t, stored)
    for (const [key, object] of Object.entries(left)) objects.set(key, object)
    objects.set('backupstoragelocations/velero/default', location)
    await sweep({ client, backup: whole, ports })()
    return { there: Object.keys(left).filter(key => objects.has(key)), policies }
  }

  /** A bucket with a backup of that name, whose archive has the snapshot of the claim and one of a group. */
  async function bucketWith(t: TestContext, stored: Backup | undefined) {
    const { folder, files, store } = await folderBucket(t)
    const list = { 'snapshot.storage.k8s.io/v1/VolumeSnapshot': [`shop/${name}`, 'shop/one'] }
    if (stored !== undefined) {
      await store.putJson({ of: 'backup', name: 'died', file: 'resourceList' }, list)
      await store.putMetadata(stored)
    }
    const location: BackupStorageLocation = {
      ...{ apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation' },
      metadata: { name: 'default', namespace: 'velero' },
      spec: { provider: 'filesystem', objectStorage: { bucket: 'bucket' }, config: { path: folder } },
    }
    const ports = { objectStores: { create: () => files } } as unknown as LocationPorts
    return { location, ports }
  }

  it('goes, and what its archive has stays in the storage', async t => {
    const left = { [snapshotKey]: snapshot, [contentKey]: content }
    const { there, policies } = await swept(t, { left, stored: whole })
    assert.deepEqual(there, [])
    assert.deepEqual(policies, { [contentKey]: 'Retain' })
  })

  it('stays when the bucket has another backup of the name or none, as after its location was pointed to another bucket', async t => {
    const another = { ...whole, status: { ...whole.status, startTimestamp: '2026-01-02T00:00:00Z' } }
    for (const stored of [another, undefined]) {
      const left = { [snapshotKey]: snapshot, [contentKey]: content }
      const { there, policies } = await swept(t, { left, stored })
      assert.deepEqual(there, [snapshotKey, contentKey])
      assert.deepEqual(policies, {})
      const orphaned = await swept(t, { left: { [contentKey]: content }, stored })
      assert.deepEqual(orphaned.there, [contentKey])
    }
  })

  it('is found when nothing but the contents of a group is there any more, and stays in the storage when it was kept', async t => {
    const labels = { 'velero.io/backup-uid': 'b' }
    const groupKey = 'volumegroupsnapshotcontents//groupsnapcontent-g'
    const groupContent = (deletionPolicy: string) => ({
      ...{ apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2', kind: 'VolumeGroupSnapshotContent' },
      metadata: { name: 'groupsnapcontent-g', uid: 'gc', labels },
      spec: { deletionPolicy, driver: 'disk.example', volumeGroupSnapshotRef: { uid: 'g' } },
      status: {
        volumeGroupSnapshotHandle: 'g',
        volumeSnapshotInfoList: [{ snapshotHandle: 'one' }, { snapshotHandle: 'two' }],
      },
    })
    for (const policy of ['Retain', 'Delete']) {
      const { there, policies } = await swept(t, {
        left: { [groupKey]: groupContent(policy) },
        stored: whole,
      })
      assert.deepEqual(there, [])
      assert.deepEqual(policies, { [groupKey]: policy })
    }
    const memberKey = 'volumesnapshotcontents//snapcontent-one'
    const member = {
      ...content,
      metadata: {
        name: 'snapcontent-one',
        uid: 'c',
        labels,
        annotations: { [groupHandlesAnnotation]: 'one,two' },
      },
      spec: { ...content.spec, volumeSnapshotRef: { namespace: 'shop', name: 'one', uid: 'u' } },
    }
    const { there, policies } = await swept(t, { left: { [memberKey]: member }, stored: whole })
    assert.deepEqual(there, [])
    assert.deepEqual(policies, { [memberKey]: 'Retain' })
  })
})
