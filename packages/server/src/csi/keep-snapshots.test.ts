import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError, type KubeObject } from '@lateen/kube'
import { type ObjectServerOptions, startObjectServer } from '../../../../tools/test/object-server.ts'
import { groupSnapshotName } from './claim-group.ts'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { VolumeGroupSnapshotContentKind, VolumeGroupSnapshotKind } from './group-snapshot-kinds.ts'
import { keepSnapshots } from './keep-snapshots.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from './snapshot-kinds.ts'

const apiVersion = 'snapshot.storage.k8s.io/v1'
const groupVersion = 'groupsnapshot.storage.k8s.io/v1beta2'
const { signal } = new AbortController()
const backup = { metadata: { name: 'nightly', uid: 'b' } }
const data = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'data' })
const logs = claimSnapshotName({ backupUid: 'b', namespace: 'shop', claim: 'logs' })
const groupName = groupSnapshotName('b', { namespace: 'shop', label: 'tier', value: 'orders' })

function snapshotWithContent(name: string, claim: string, { inGroup = false } = {}): [string, KubeObject][] {
  const labels = { 'velero.io/backup-uid': 'b' }
  const owner = { apiVersion: groupVersion, kind: 'VolumeGroupSnapshot', name: groupName, uid: 'g' }
  const snapshot = {
    ...{ apiVersion, kind: 'VolumeSnapshot' },
    metadata: { namespace: 'shop', name, uid: name, labels, ownerReferences: inGroup ? [owner] : [] },
    spec: { source: { persistentVolumeClaimName: claim } },
    ...(inGroup && { status: { volumeGroupSnapshotName: groupName } }),
  }
  const content = {
    ...{ apiVersion, kind: 'VolumeSnapshotContent' },
    metadata: { name: `snapcontent-${name}`, uid: `c-${name}` },
    spec: {
      ...{ deletionPolicy: 'Delete', driver: 'disk.example', source: {} },
      volumeSnapshotRef: { namespace: 'shop', name, uid: name },
    },
  }
  return [
    [`volumesnapshots/shop/${name}`, snapshot],
    [`volumesnapshotcontents//snapcontent-${name}`, content],
  ]
}

const idOf = (name: string) => ({
  ...{ group: 'snapshot.storage.k8s.io', resource: 'volumesnapshots' },
  ...{ namespace: 'shop', name },
})

const policyIn = (object: KubeObject | undefined) =>
  (object as { spec: { deletionPolicy: string } } | undefined)?.spec.deletionPolicy

function going(object: KubeObject | undefined): KubeObject {
  assert.ok(object)
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
}

/** A group snapshot of the backup, with its members. */
function groupOf(members: string[]): [string, KubeObject][] {
  const labels = { 'velero.io/backup-uid': 'b' }
  const group = {
    ...{ apiVersion: groupVersion, kind: 'VolumeGroupSnapshot' },
    metadata: { namespace: 'shop', name: groupName, uid: 'g', labels },
    spec: { source: { selector: { matchLabels: { tier: 'orders' } } } },
  }
  const content = {
    ...{ apiVersion: groupVersion, kind: 'VolumeGroupSnapshotContent' },
    metadata: { name: 'groupsnapcontent-g', uid: 'gc', labels },
    spec: { deletionPolicy: 'Delete', driver: 'disk.example', volumeGroupSnapshotRef: { uid: 'g' } },
  }
  return [
    [`volumegroupsnapshots/shop/${groupName}`, group],
    ['volumegroupsnapshotcontents//groupsnapcontent-g', content],
    ...members.flatMap(name => snapshotWithContent(name, name, { inGroup: true })),
  ]
}

async function given(options: Pick<ObjectServerOptions, 'before'> = {}) {
  const server = await startObjectServer({
    kinds: [
      ...[VolumeSnapshotKind, VolumeSnapshotContentKind],
      ...[VolumeGroupSnapshotKind, VolumeGroupSnapshotContentKind],
    ],
    ...options,
  })
  const all = [
    ...snapshotWithContent(data, 'data'),
    ...snapshotWithContent(logs, 'logs'),
    ...snapshotWithContent('of-a-user', 'data'),
  ]
  for (const [key, object] of all) server.objects.set(key, object)
  const policyOf = (name: string) =>
    policyIn(server.objects.get(`volumesnapshotcontents//snapcontent-${name}`))
  return { ...server, policyOf }
}

describe('snapshots that are about to be stored in the archive', () => {
  it('are kept by the storage whatever becomes of their objects, and no others', async () => {
    await using server = await given()
    const ids = [idOf(data), idOf('of-a-user'), { ...idOf(logs), resource: 'other' }]
    await keepSnapshots(backup, ids, { client: server.client, signal })
    assert.deepEqual([data, logs, 'of-a-user'].map(server.policyOf), ['Retain', 'Delete', 'Delete'])
  })

  it('are left as they are where somebody refuses, and tried again where that may help', async () => {
    await using server = await given()
    const keepWith = (code: string, retryable: boolean) => {
      const failure = new KubeError(code, { message: 'no', retryable })
      const client: typeof server.client = {
        ...server.client,
        resource: (...kind) => ({
          ...server.client.resource(...kind),
          patch: () => Promise.reject(failure),
        }),
      }
      return keepSnapshots(backup, [idOf(data)], { client, signal })
    }
    await keepWith('Forbidden', false)
    await keepWith('Invalid', false)
    await assert.rejects(keepWith('ServiceUnavailable', true), { code: 'ServiceUnavailable' })
    assert.equal(server.policyOf(data), 'Delete')
  })

  it('are not kept once they are being deleted, for they would stay in the storage for good', async () => {
    const policies: string[] = []
    for (const key of [`volumesnapshots/shop/${data}`, `volumesnapshotcontents//snapcontent-${data}`]) {
      await using server = await given()
      server.objects.set(key, going(server.objects.get(key)))
      await keepSnapshots(backup, [idOf(data), idOf(logs)], { client: server.client, signal })
      policies.push(`${server.policyOf(data)} ${server.policyOf(logs)}`)
    }
    assert.deepEqual(policies, ['Delete Retain', 'Delete Retain'])
  })

  it('go as they would have gone where somebody deletes their contents meanwhile', async () => {
    const content = `volumesnapshotcontents//snapcontent-${data}`
    await using server = await given({
      before(request, objects) {
        if (request === `PATCH ${content}`) objects.set(content, going(objects.get(content)))
      },
    })
    await keepSnapshots(backup, [idOf(data)], { client: server.client, signal })
    assert.equal(server.policyOf(data), 'Delete')
  })

  it('are kept with their group, unless that or its content is being deleted', async () => {
    const group = 'volumegroupsnapshots/shop/'
    const content = 'volumegroupsnapshotcontents//groupsnapcontent-g'
    for (const gone of ['', `${group}${groupName}`, content]) {
      await using server = await given()
      for (const [key, object] of groupOf(['one', 'two'])) server.objects.set(key, object)
      if (gone) server.objects.set(gone, going(server.objects.get(gone)))
      await keepSnapshots(backup, [idOf('one')], { client: server.client, signal })
      const expected = gone ? 'Delete' : 'Retain'
      assert.equal(policyIn(server.objects.get(content)), expected, gone)
      assert.deepEqual(['one', 'two'].map(server.policyOf), [expected, expected], gone)
    }
  })
})
