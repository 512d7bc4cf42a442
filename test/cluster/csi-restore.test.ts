import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Restore, RestoreSpec } from '@lateen/api'
import { serverDefaults } from '@lateen/server'
import {
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from '../../packages/server/src/csi/snapshot-kinds.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import type { Unpacked } from './backup-bucket.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { lateenFor } from './cli-runner.ts'
import { type CsiPod, createCsiPod, csiPod, csiPodManifest } from './csi-scene.ts'
import { type Claim, lostCsiArchive, oddCsiArchive, type SnapshotObject } from './odd-csi-archive.ts'
import { handsOn, restoreArchive } from './restore-harness.ts'
import { publishBackup } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })
const unique = `csi-restore-${process.pid}`
const shop = `${unique}-shop`
const inCluster = (name: string) => `${unique}-${name}`

const fill = [
  'mkdir -p /data/deep; echo one > /data/one; ln -s ../one /data/deep/link; chown 7:8 /data/one',
  'dd if=/dev/urandom of=/data/random bs=1M count=4 2>/dev/null; echo late > /late/file',
  'dd if=/dev/urandom of=/dev/disk bs=1M count=16 2>/dev/null',
].join('; ')

/** What a pod has in its volumes. */
interface Contents {
  data: string
  late: string
  disk: string
}

interface RestoredVolume {
  pvcName: string
  pvcNamespace: string
  restoreMethod: string
  snapshotDataMoved: boolean
  csiSnapshotInfo: { snapshotHandle: string; size: number; driver: string; vscName: string }
}

describe('volumes that are restored from CSI snapshots', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let contents: Contents
  let snapshots: string[]
  const made = new Set([shop])
  const hands = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })
  let archive: Unpacked
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const claims = { data: {}, late: { class: 'csi-waiting' }, disk: { mode: 'Block' } } as const

  const contentsOf = async (pod: CsiPod): Promise<Contents> => ({
    data: await pod.tree('/data'),
    late: await pod.tree('/late'),
    disk: await pod.checksum('disk'),
  })

  /** The VolumeSnapshots and contents that are in this file's namespaces, or for them. */
  async function pairs(): Promise<SnapshotObject[]> {
    const taken = await scene.client.resource(VolumeSnapshotKind).list().toArray()
    const contents = await scene.client.resource(VolumeSnapshotContentKind).list().toArray()
    return ([...taken, ...contents] as unknown as SnapshotObject[]).filter(({ metadata, spec }) =>
      (metadata.namespace ?? spec.volumeSnapshotRef?.namespace ?? '').startsWith(unique),
    )
  }

  /** Of the snapshot that the backup took of a claim. */
  function uidOfSnapshot(claim: string): string {
    const taken = [...archive.values()].filter(({ kind }) => kind === 'VolumeSnapshot') as SnapshotObject[]
    return taken.find(({ spec }) => spec.source.persistentVolumeClaimName === claim)?.metadata.uid ?? ''
  }

  async function noneIsLeft(): Promise<void> {
    let left: SnapshotObject[] = []
    await waitUntil(
      async () => {
        left = await pairs()
        return left.length === 0
      },
      { timeoutMs: 120_000, failure: () => new Error(`left: ${JSON.stringify(left, null, 1)}`) },
    )
    assert.deepEqual(await driverSnapshots(), snapshots, 'the snapshots of the backup stay')
  }

  /** Those of the backup that the driver still has. */
  async function driverSnapshots(): Promise<string[]> {
    using driver = driverClient(given.cluster.csi.socket)
    const { entries } = await driver.controller.listSnapshots({})
    const all = entries.map(({ snapshot }) => snapshot?.snapshotId ?? '')
    return all.filter(handle => snapshots.includes(handle)).sort()
  }

  const results = async (name: string) => JSON.stringify(await scene.bucket.restoreResults(name))

  async function succeeds(name: string, spec: RestoreSpec): Promise<Restore> {
    const restore = await scene.restores.run(name, { backupName: 'whole', ...spec })
    assert.equal(restore.status?.phase, 'Completed', await results(name))
    return restore
  }

  function into(namespace: string): RestoreSpec {
    made.add(namespace)
    return { namespaceMapping: { [shop]: namespace } }
  }

  before(async () => {
    scene = await openServerScene(given.cluster, 'csi-restore')
    const [pod] = await Promise.all([
      createCsiPod(given.cluster, { namespace: shop, claims }),
      scene.start().then(started => {
        server = started
      }),
    ])
    await pod.run(fill)
    contents = await contentsOf(pod)
    await scene.backups.create('whole', { includedNamespaces: [shop] })
    const { status } = await scene.backups.ended('whole')
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    archive = await scene.bucket.unpack('whole')
    const handles = [...archive.values()]
      .filter(({ kind }) => kind === 'VolumeSnapshotContent')
      .flatMap(object => (object as SnapshotObject).status?.snapshotHandle ?? [])
    snapshots = [...new Set(handles)].sort()
    assert.equal(snapshots.length, 3)
  })
  after(async () => {
    await kubectl('delete', 'namespace', ...made, '--wait=false', '--ignore-not-found')
    await scene?.[Symbol.asyncDispose]()
  })

  it('are as they were, in the same namespace after it was deleted', async () => {
    await kubectl('delete', 'namespace', shop, '--timeout=120s')
    const { metadata } = await succeeds('same', {})
    const pod = csiPod(given.cluster, { namespace: shop })
    await pod.ready()
    assert.deepEqual(await contentsOf(pod), contents)
    await noneIsLeft()
    const info = JSON.parse(
      gunzipSync(await scene.bucket.read('restores/same/same-volumeinfo.json.gz')).toString(),
    ) as RestoredVolume[]
    assert.equal(info.length, 3)
    assert.deepEqual(new Set(info.map(({ pvcName }) => pvcName)), new Set(Object.keys(claims)))
    const read = info.map(({ csiSnapshotInfo }) => csiSnapshotInfo.snapshotHandle)
    assert.deepEqual(new Set(read), new Set(snapshots))
    for (const each of info) {
      assert.equal(each.restoreMethod, 'CSISnapshot')
      assert.equal(each.snapshotDataMoved, false)
      assert.equal(each.pvcNamespace, shop)
      assert.equal(each.csiSnapshotInfo.driver, given.cluster.csi.driver)
      assert.equal(each.csiSnapshotInfo.size, 16 * 1024 * 1024)
      assert.equal(each.csiSnapshotInfo.vscName, restoredName(metadata.uid, uidOfSnapshot(each.pvcName)))
    }
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const { stdout } = await lateen(['restore', 'describe', 'same', '--details', '-n', scene.namespace])
    assert.match(stdout, /CSI Snapshot Restores:/)
    for (const handle of snapshots) assert.ok(stdout.includes(`Storage Snapshot ID: ${handle}`), stdout)
  })

  it('are planned without a change in the cluster', async () => {
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const mapping = `${shop}:${inCluster('planned')}`
    const plan = ['restore', 'plan', '--from-backup=whole', `--namespace-mappings=${mapping}`]
    const { status, stdout, stderr } = await lateen([...plan, '-n', scene.namespace])
    assert.ok(status === 0 || status === 2, `${status}: ${stderr}${stdout}`)
    for (const kind of ['VolumeSnapshot', 'VolumeSnapshotContent']) {
      const planned = stdout.match(new RegExp(`^${kind} .* vsc-[0-9a-f]{64} +create `, 'gm'))
      assert.equal(planned?.length, 3, stdout)
    }
    assert.match(stdout, / 0 fail\. Nothing was written/)
    assert.deepEqual(await pairs(), [])
  })

  it('are as they were in two other namespaces, by two restores at once', async () => {
    const places = ['first', 'second']
    await Promise.all(places.map(name => succeeds(name, into(inCluster(name)))))
    for (const name of places) {
      const pod = csiPod(given.cluster, { namespace: inCluster(name) })
      await pod.ready()
      assert.deepEqual(await contentsOf(pod), contents, name)
    }
    await noneIsLeft()
    await succeeds('over', into(inCluster('first')))
    assert.deepEqual(await contentsOf(csiPod(given.cluster, { namespace: inCluster('first') })), contents)
    await noneIsLeft()
  })

  it('are told of where nobody restores from snapshots, which are not taken anew then', async () => {
    const bytes = await scene.bucket.read('backups/whole/whole.tar.gz')
    const spec = { backupName: 'whole', ...into(inCluster('without')) }
    const { outcome, items } = await restoreArchive({ client: scene.client, archive: bytes, spec })
    const told = outcome.results.errors.cluster?.filter(text =>
      text.includes('restoring CSI snapshots is not available without a server'),
    )
    assert.equal(told?.length, 3, JSON.stringify(outcome.results))
    const ofSnapshots = [...items].filter(([name]) => /^volumesnapshot(content)?s\./.test(name))
    assert.equal(ofSnapshots.length, 6)
    for (const [name, { action }] of ofSnapshots) assert.equal(action, 'skipped', name)
    assert.deepEqual(await pairs(), [])
  })

  it('keep their snapshots until a pod wants them, and lose them then, whoever looks after it', async () => {
    const namespace = inCluster('waiting')
    const includedResources = ['persistentvolumeclaims']
    const { metadata } = await succeeds('waiting', { ...into(namespace), includedResources })
    const name = restoredName(metadata.uid, uidOfSnapshot('late'))
    await waitUntil(async () => (await pairs()).length === 2, {
      timeoutMs: 120_000,
      failure: () => new Error('not only the pair of the claim that waits'),
    })
    const [snapshot, content] = (await pairs()).sort((a, b) => (a.kind < b.kind ? -1 : 1)) as [
      SnapshotObject,
      SnapshotObject,
    ]
    for (const each of [snapshot, content]) assert.equal(each.metadata.name, name)
    assert.equal(snapshot.metadata.namespace, namespace)
    assert.equal(snapshot.metadata.annotations?.['velero.io/csi-vsc-deletion-policy'], 'Retain')
    assert.equal(snapshot.spec.source.volumeSnapshotContentName, name)
    assert.equal(content.spec.deletionPolicy, 'Retain')
    assert.equal(content.spec.driver, given.cluster.csi.driver)
    assert.equal(content.spec.volumeSnapshotClassName, given.cluster.csi.snapshotClass)
    assert.ok(snapshots.includes(content.spec.source.snapshotHandle ?? ''))
    assert.equal(content.spec.volumeSnapshotRef?.namespace, namespace)
    assert.equal(content.spec.volumeSnapshotRef?.name, name)

    await scene.restores.delete('waiting')
    await scene.restores.gone('waiting')
    await server.kill()
    await hands.create(csiPodManifest({ namespace, claims }))
    const pod = csiPod(given.cluster, { namespace })
    await pod.ready()
    assert.deepEqual(await contentsOf(pod), contents)
    assert.equal((await pairs()).length, 2)
    server = await scene.start()
    await noneIsLeft()
  })

  it('are empty where no volumes are wanted', async () => {
    const namespace = inCluster('empty')
    await succeeds('empty', { ...into(namespace), restorePVs: false })
    const pod = csiPod(given.cluster, { namespace })
    await pod.ready()
    assert.equal((await pod.tree('/data')).split('\n').length, 2, 'the folder itself')
    const list = JSON.parse(
      gunzipSync(await scene.bucket.read('restores/empty/restore-empty-resource-list.json.gz')).toString(),
    ) as Record<string, string[]>
    for (const kind of ['VolumeSnapshot', 'VolumeSnapshotContent']) {
      for (const each of list[`snapshot.storage.k8s.io/v1/${kind}`] ?? []) assert.match(each, /\(skipped\)$/)
    }
    await noneIsLeft()
  })

  it('grow to what their snapshots need, and fail one by one where a backup has not what it takes', async () => {
    await publishBackup(scene, { name: 'odd', archive: oddCsiArchive(archive, 'odd') })
    const namespace = inCluster('odd')
    const restore = await scene.restores.run('odd', { backupName: 'odd', ...into(namespace) })
    assert.equal(restore.status?.phase, 'PartiallyFailed', await results('odd'))
    const { errors } = await scene.bucket.restoreResults('odd')
    const told = [...(errors.namespaces?.[namespace] ?? []), ...(errors.cluster ?? [])].sort()
    const noHandle = /fail to get snapshot handle from VSC no-handle status/
    assert.equal(told.length, 4, JSON.stringify(errors))
    for (const [what, why] of [
      ['volumesnapshotcontents.snapshot.storage.k8s.io/no-handle', noHandle],
      [`volumesnapshots.snapshot.storage.k8s.io/${namespace}/no-handle`, noHandle],
      [`persistentvolumeclaims/${namespace}/no-handle`, noHandle],
      [`persistentvolumeclaims/${namespace}/no-snapshot`, /VolumeSnapshot \S+\/gone is not in the backup/],
    ] as const) {
      assert.ok(
        told.some(text => text.includes(what) && why.test(text)),
        `${what}: ${JSON.stringify(told)}`,
      )
    }
    const names = await kubectl('-n', namespace, 'get', 'pvc', '-o', 'name')
    assert.deepEqual(
      names.trim().split('\n').sort(),
      ['old', 'older', 'small'].map(each => `persistentvolumeclaim/${each}`),
    )
    assert.doesNotMatch(await kubectl('get', 'pv', '-o', 'name'), /volume-of-/)
    for (const each of ['small', 'older']) {
      const { spec } = (await hands.get('pvc', each, namespace)) as Claim
      assert.equal(spec.resources.requests.storage, '16Mi')
    }
    await hands.create(csiPodManifest({ namespace, claims: { small: {}, old: {}, older: {} } }))
    const pod = csiPod(given.cluster, { namespace })
    await pod.ready()
    for (const each of ['small', 'old', 'older'])
      assert.equal(await pod.tree(`/${each}`), contents.data, each)
    await noneIsLeft()
  })

  it('are errors with the words of the driver when they are late, and let go of their snapshots when they are deleted', async () => {
    await server.stop()
    const backupDefaults = { ...serverDefaults.backupDefaults, resourceTimeout: 4_000 }
    server = await scene.start({ backupDefaults })
    await publishBackup(scene, { name: 'lost', archive: lostCsiArchive(archive, 'lost') })
    const namespace = inCluster('lost')
    const { status } = await scene.restores.run('lost', { backupName: 'lost', ...into(namespace) })
    assert.equal(status?.phase, 'PartiallyFailed', await results('lost'))
    assert.match(
      (await scene.bucket.restoreResults('lost')).errors.namespaces?.[namespace]?.join() ?? '',
      /^persistentvolumeclaims\/\S+\/lost has no volume yet: its snapshot (cannot be used: .*no-such-snapshot|is not ready)/,
    )
    assert.equal((await pairs()).length, 2)
    await kubectl('-n', namespace, 'delete', 'pvc', 'lost')
    await noneIsLeft()
  })
})
function restoredName(restoreUid: string | undefined, snapshotUid: string): string {
  return `vsc-${createHash('sha256').update(`${restoreUid}/${snapshotUid}`).digest('hex')}`
}
