import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Backup } from '@lateen/api'
import { type Informer, type KubeClient, silentLogger, systemClock } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { groupSnapshotName } from '../csi/claim-group.ts'
import { claimSnapshotName } from '../csi/claim-snapshot-name.ts'
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

/** What does a round. */
function sweep(client: KubeClient): () => Promise<unknown> {
  const informer = { list: () => [died] } as unknown as Informer<Backup>
  const { reconcile } = leftSnapshotsController({
    ...{ client, clock: systemClock, random: Math.random, informer },
    ports: {} as LocationPorts,
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
  const round = sweep(client)
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
  await sweep(client)()
  assert.deepEqual([...objects.keys()], ['volumegroupsnapshots/shop/copied'])
})
