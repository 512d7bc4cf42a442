import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { type KubeClient, systemClock } from '@lateen/kube'
import { type BackupGroup, groupsOfBackup, removeGroup } from '../../packages/server/src/csi/backup-groups.ts'
import { VolumeGroupSnapshotKind } from '../../packages/server/src/csi/group-snapshot-kinds.ts'
import { takeGroupSnapshot } from '../../packages/server/src/csi/take-group-snapshot.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { type CsiPod, createCsiPod, csiPod, csiScene } from './csi-scene.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })

const namespace = 'csi-groups'
const shop = `${namespace}-shop`
const label = 'velero.io/volume-group'
const signal = new AbortController().signal

/** A client of a process that is killed when it has deleted its first object. */
function diesAfterDelete(client: KubeClient): KubeClient {
  let dead = false
  return {
    ...client,
    resource: (...kind) => {
      const objects = client.resource(...kind)
      const alive =
        <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
        (...args: A) =>
          dead ? Promise.reject(new Error('died')) : call(...args)
      return {
        ...objects,
        get: alive((...args) => objects.get(...args)),
        patch: alive((...args) => objects.patch(...args)),
        delete: alive(async (...args) => {
          await objects.delete(...args)
          dead = true
        }),
      }
    },
  }
}

describe('Volumes that are snapshotted together', { skip: given.skip, concurrency: false }, async () => {
  const scene = await csiScene(given, { namespace })
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const member = {
    labels: { [label]: 'orders' },
    annotations: { 'velero.io/csi-volume-group-snapshot-class': 'csi-groups' },
  }
  let pod: CsiPod
  const trees = async (of: CsiPod) => Promise.all(['/table', '/log', '/cache'].map(each => of.tree(each)))

  before(async () => {
    const log = { ...member, labels: { ...member.labels, tier: 'scratch' } }
    const claims = { table: member, log, cache: {} }
    pod = await createCsiPod(given.cluster, { namespace: shop, claims })
    await pod.run('for each in table log cache; do echo $each > /$each/file; done')
  })
  after(async () => {
    const namespaces = [shop, `${shop}-two`, `${shop}-three`, `${shop}-four`]
    await kubectl('delete', 'namespace', ...namespaces, '--wait=false', '--ignore-not-found')
  })

  /** The groups that the driver's snapshots of this file are in, each with the number of its members. */
  async function driverGroups(): Promise<number[]> {
    using client = driverClient(given.cluster.csi.socket)
    const ours = new Set(await scene.driverSnapshots())
    const { entries } = await client.controller.listSnapshots({})
    const groups = entries.flatMap(({ snapshot }) =>
      snapshot && ours.has(snapshot.snapshotId) && snapshot.groupSnapshotId ? [snapshot.groupSnapshotId] : [],
    )
    return Object.values(Object.groupBy(groups, id => id)).map(each => each?.length ?? 0)
  }

  const failure = (what: string) => () => new Error(what)
  const until = (what: string, isSo: () => Promise<boolean>) =>
    waitUntil(isSo, { timeoutMs: 120_000, everyMs: 300, failure: failure(what) })

  it('are one group in the driver, of which the backup keeps every member and no object', async () => {
    const { status } = await scene.backUp('together', `--include-namespaces=${shop}`)
    assert.equal(status?.phase, 'Completed')
    assert.equal(status?.csiVolumeSnapshotsCompleted, 3)
    assert.deepEqual(await driverGroups(), [2])
    await scene.nothingIsLeft()
  })

  it('are restored as they were, and what stood for the group goes', async () => {
    const before = await trees(pod)
    await pod.run('echo changed > /table/file; echo changed > /log/file')
    const two = `${shop}-two`
    const { status } = await scene.restore('together', 'together', `--namespace-mappings=${shop}:${two}`)
    assert.equal(status?.phase, 'Completed')
    const restored = csiPod(given.cluster, { namespace: two })
    await restored.ready()
    assert.deepEqual(await trees(restored), before)
    await scene.nothingIsLeft()
    assert.deepEqual(await driverGroups(), [2])
  })

  it('are gone from the storage with the backup, also those that it left out', async () => {
    const policies =
      'version: v1\nvolumePolicies:\n- conditions: { pvcLabels: { tier: scratch } }\n  action: { type: skip }\n'
    await kubectl('-n', namespace, 'create', 'configmap', 'skip', `--from-literal=policies=${policies}`)
    const flags = [`--include-namespaces=${shop}`, '--resource-policies-configmap=skip']
    const { status } = await scene.backUp('partly', ...flags)
    assert.equal(status?.phase, 'Completed')
    assert.equal(status?.csiVolumeSnapshotsCompleted, 2)
    assert.deepEqual(await driverGroups(), [2, 2])
    await scene.deleteBackups('together', 'partly')
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), [])
  })

  it('have their contents moved where a policy says so, beside others, and leave no group behind', async () => {
    const policies = `
version: v1
volumePolicies:
- conditions: { pvcLabels: { ${label}: orders } }
  action: { type: snapshot, parameters: { snapshotMoveData: true } }
- conditions: { csi: {} }
  action: { type: fs-backup }
`
    await kubectl('-n', namespace, 'create', 'configmap', 'policies', `--from-literal=policies=${policies}`)
    const before = await trees(pod)
    const flags = [`--include-namespaces=${shop}`, '--resource-policies-configmap=policies']
    const { status } = await scene.backUp('moved', ...flags)
    assert.equal(status?.phase, 'Completed')
    const uploads = await scene.dataUploads('moved')
    assert.deepEqual(
      new Set(uploads.map(each => `${each.spec.sourcePVC} ${each.status?.phase}`)),
      new Set(['log Completed', 'table Completed']),
    )
    assert.deepEqual(
      (await scene.podVolumeBackups('moved')).map(each => `${each.spec.volume} ${each.status?.phase}`),
      ['cache Completed'],
    )
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), [])
    await pod.run('echo lost > /table/file; echo lost > /log/file; echo lost > /cache/file')
    const three = `${shop}-three`
    const restore = await scene.restore('moved', 'moved', `--namespace-mappings=${shop}:${three}`)
    assert.equal(restore.status?.phase, 'Completed')
    const restored = csiPod(given.cluster, { namespace: three })
    await restored.ready()
    assert.deepEqual(await trees(restored), before)
    await scene.nothingIsLeft()
  })

  it('fail where the group has a claim of something else than one driver', async () => {
    const other = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'unbound', namespace: shop, labels: member.labels },
      spec: {
        storageClassName: given.cluster.csi.waitingStorageClass,
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '16Mi' } },
      },
    }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(other) })
    const { status } = await scene.backUp('mixed', `--include-namespaces=${shop}`)
    assert.equal(status?.phase, 'PartiallyFailed')
    const told = await scene.succeed('backup', 'describe', 'mixed', '--details')
    assert.match(
      told,
      /the claim csi-groups-shop\/unbound of the group velero.io\/volume-group=orders has no volume/,
    )
    await scene.nothingIsLeft()
    await kubectl('-n', shop, 'delete', 'pvc', 'unbound')
  })

  it('leave no group behind that the driver never completes', async () => {
    const four = `${shop}-four`
    const annotations = { 'velero.io/csi-volume-group-snapshot-class': 'nowhere' }
    await createCsiPod(given.cluster, { namespace: four, claims: { table: { ...member, annotations } } })
    const flags = [`--include-namespaces=${four}`, '--csi-snapshot-timeout=3s']
    const { status } = await scene.backUp('nowhere', ...flags)
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.match(await scene.succeed('backup', 'describe', 'nowhere', '--details'), /had no handles after 3s/)
    await scene.nothingIsLeft()
  })

  it('are found by whoever comes later, and removed by whoever finds them half removed', async () => {
    const { client } = scene
    const request = (uid: string) => ({
      backup: {
        apiVersion: 'velero.io/v1',
        kind: 'Backup',
        metadata: { name: 'by-hand', namespace, uid },
        spec: {},
      } satisfies Backup,
      group: { namespace: shop, label, value: 'orders' },
    })
    const ports = { client, clock: systemClock, timeoutMs: 60_000, signal }
    const claim = (name: string) => ({ metadata: { name, namespace: shop, annotations: member.annotations } })
    const groupsOf = (uid: string) => groupsOfBackup(request(uid).backup, { client, signal })
    const groupOf = async (uid: string): Promise<BackupGroup> => {
      const [group, ...others] = await groupsOf(uid)
      assert.equal(others.length, 0)
      assert.ok(group)
      return group
    }
    for (const kept of [true, false]) {
      const uid = `by-hand-${kept}`
      const asked = [claim('table'), claim('log'), claim('table')]
      const taken = await Promise.all(
        asked.map(each => takeGroupSnapshot({ ...request(uid), claim: each }, ports)),
      )
      assert.equal(new Set(taken.map(({ metadata }) => metadata.name)).size, 2)
      assert.deepEqual(await driverGroups(), [2])
      const dying = { client: diesAfterDelete(client), signal }
      await assert.rejects(removeGroup(await groupOf(uid), kept, dying), /died/)
      await until('the VolumeGroupSnapshot goes', async () => {
        const left = await client.resource(VolumeGroupSnapshotKind, shop).list().toArray()
        return left.length === 0
      })
      for (const half of await groupsOf(uid)) await removeGroup(half, kept, { client, signal })
      await until('all objects go', async () => (await groupsOf(uid)).length === 0)
      await until(
        'the storage has what is kept',
        async () => (await driverGroups()).length === (kept ? 1 : 0),
      )
      using driver = driverClient(given.cluster.csi.socket)
      const needed = new Set(await scene.snapshotsNeeded())
      const rest = (await scene.driverSnapshots()).filter(handle => !needed.has(handle))
      for (const snapshotId of rest) await driver.controller.deleteSnapshot({ snapshotId })
    }
    await scene.nothingIsLeft()
  })
})
