import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { KubeObject } from '@lateen/kube'
import { claimSnapshotName } from '../../packages/server/src/csi/claim-snapshot-name.ts'
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../packages/server/src/csi/snapshot-kinds.ts'
import type { CsiSnapshotInfo } from '../../packages/server/src/volumes/csi-volume-info.ts'
import type { VolumeInfo } from '../../packages/server/src/volumes/volume-info.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import type { Unpacked } from './backup-bucket.ts'
import { type CsiPod, claimManifest, createCsiPod, csiScene, ownLabel } from './csi-scene.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })

const namespace = 'csi-backup'
const data = 'csi-backup-data'
const group = 'snapshot.storage.k8s.io'

const ofUser = 'of-the-user'

function snapshotClass(name: string, more: object) {
  return {
    apiVersion: `${group}/v1`,
    kind: 'VolumeSnapshotClass',
    metadata: { name },
    driver: given.cluster.csi.driver,
    ...more,
  }
}

/** A snapshot of the claim with files. */
function snapshot(name: string, more: { labels: Record<string, string>; volumeSnapshotClassName?: string }) {
  const { labels, volumeSnapshotClassName = given.cluster.csi.snapshotClass } = more
  return {
    apiVersion: `${group}/v1`,
    kind: 'VolumeSnapshot',
    metadata: { name, namespace: data, labels },
    spec: { volumeSnapshotClassName, source: { persistentVolumeClaimName: 'files' } },
  }
}

/** No secret of that name is there, so that no snapshot is taken. */
const noSecret = {
  'csi.storage.k8s.io/snapshotter-secret-name': 'absent',
  'csi.storage.k8s.io/snapshotter-secret-namespace': data,
}

const kept = 'csi-backup-kept'
const broken = 'csi-backup-broken'
const classOf = (name: string) => ({ annotations: { 'velero.io/csi-volumesnapshot-class': name } })

/** The objects of a kind in an archive. */
function ofKind<T extends KubeObject>(objects: Unpacked, kind: string): T[] {
  return [...objects]
    .filter(([path, object]) => object.kind === kind && !path.includes('-preferredversion/'))
    .map(([, object]) => object as T)
}

/** The claims whose snapshots are in an archive. */
function claimsOf(objects: Unpacked): Set<string | undefined> {
  const snapshots = ofKind<VolumeSnapshot>(objects, 'VolumeSnapshot')
  return new Set(snapshots.map(({ spec }) => spec.source.persistentVolumeClaimName))
}

/** Checks that an archive has all that belongs to a snapshot, as it is when that is ready. */
function checkWhole({ metadata, spec, status }: VolumeSnapshot, objects: Unpacked): void {
  const contents = ofKind<VolumeSnapshotContent>(objects, 'VolumeSnapshotContent')
  const content = contents.find(each => each.metadata.name === status?.boundVolumeSnapshotContentName)
  assert.equal(status?.readyToUse, true)
  assert.equal(metadata.labels?.['velero.io/backup-name'], 'shop')
  assert.equal(content?.metadata.labels?.['velero.io/backup-name'], 'shop')
  assert.equal(content?.status?.readyToUse, true)
  assert.equal(content?.spec.volumeSnapshotRef.uid, metadata.uid)
  const { annotations = {} } = metadata
  assert.equal(annotations['velero.io/csi-volumesnapshot-handle'], content?.status?.snapshotHandle)
  assert.equal(annotations['velero.io/csi-driver-name'], given.cluster.csi.driver)
  assert.equal(annotations['velero.io/csi-vsc-deletion-policy'], content?.spec.deletionPolicy)
  assert.equal(annotations['velero.io/csi-volumesnapshot-restore-size'], '16Mi')
  const claims = ofKind(objects, 'PersistentVolumeClaim')
  const claim = claims.find(each => each.metadata.name === spec.source.persistentVolumeClaimName)
  assert.equal(claim?.metadata.annotations?.['velero.io/volume-snapshot-name'], metadata.name)
  assert.equal(claim?.metadata.labels?.['velero.io/volume-snapshot-name'], metadata.name)
  assert.equal(claim?.metadata.labels?.['velero.io/backup-name'], 'shop')
}

describe('a backup with CSI snapshots', { skip: given.skip, concurrency: false }, async () => {
  const scene = await csiScene(given, { namespace })
  const apply = (...items: object[]) =>
    given.cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
  const snapshotsReady = (...names: string[]) =>
    given.cluster.kubectl([
      ...['-n', data, 'wait', ...names.map(name => `volumesnapshot/${name}`)],
      ...['--for=jsonpath={.status.readyToUse}=true', '--timeout=120s'],
    ])
  let pod: CsiPod
  const results = async (backup: string) => JSON.stringify(await scene.bucket.readJson(backup, '-results.gz'))

  before(async () => {
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: data } },
      snapshotClass(kept, { deletionPolicy: 'Retain' }),
      snapshotClass(broken, { deletionPolicy: 'Retain', parameters: noSecret }),
      claimManifest(data, 'unbound', { class: given.cluster.csi.waitingStorageClass }),
    )
    pod = await createCsiPod(given.cluster, {
      namespace: data,
      claims: { files: { labels: { app: 'shop' } }, disk: { mode: 'Block', ...classOf(kept) } },
      annotations: {
        'pre.hook.backup.velero.io/command': '["sh", "-c", "echo frozen >> /files/log"]',
        'post.hook.backup.velero.io/command': '["sh", "-c", "echo thawed >> /files/log"]',
      },
    })
    await pod.run('echo first > /files/one')
    await apply(snapshot(ofUser, { labels: { [ownLabel]: 'yes' } }))
    await snapshotsReady(ofUser)
  })
  after(async () => {
    await given.cluster.kubectl(['delete', 'volumesnapshotclass', kept, broken, '--ignore-not-found'])
    await given.cluster.kubectl(['delete', 'namespace', data, '--wait=false', '--ignore-not-found'])
  })

  it('stores what a restore needs as it is in the end, and keeps nothing but the snapshots in the storage', async () => {
    const { status } = await scene.backUp('shop', `--include-namespaces=${data}`)
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
    assert.equal(status?.csiVolumeSnapshotsAttempted, 2)
    assert.equal(status?.csiVolumeSnapshotsCompleted, 2)
    assert.equal(status?.warnings, undefined)

    const objects = await scene.bucket.unpack('shop')
    const contents = ofKind<VolumeSnapshotContent>(objects, 'VolumeSnapshotContent')
    const classes = ofKind(objects, 'VolumeSnapshotClass').map(({ metadata }) => metadata.name)
    assert.deepEqual(new Set(classes), new Set([kept, given.cluster.csi.snapshotClass]))
    assert.deepEqual(claimsOf(objects), new Set(['disk', 'files']))
    for (const snapshot of ofKind<VolumeSnapshot>(objects, 'VolumeSnapshot')) checkWhole(snapshot, objects)
    const claims = ofKind(objects, 'PersistentVolumeClaim')
    const unbound = claims.find(each => each.metadata.name === 'unbound')
    assert.equal(unbound?.metadata.annotations?.['velero.io/volume-snapshot-name'], undefined)

    const infos = (await scene.bucket.readJson('shop', '-volumeinfo.json.gz')) as VolumeInfo[]
    assert.deepEqual(
      new Set(infos.map(each => `${each.pvcName} ${each.backupMethod} ${each.result}`)),
      new Set(['disk CSISnapshot succeeded', 'files CSISnapshot succeeded']),
    )
    const told = infos.map(({ csiSnapshotInfo }) => csiSnapshotInfo as CsiSnapshotInfo)
    assert.deepEqual(
      new Set(told.map(each => [each.snapshotHandle, each.vscName, each.size, each.ReadyToUse].join())),
      new Set(contents.map(each => [each.status?.snapshotHandle, each.metadata.name, 16 << 20, true].join())),
    )
    await scene.nothingIsLeft()
    assert.equal((await scene.driverSnapshots()).length, 3)
    const files = told.find((_, at) => infos[at]?.pvcName === 'files')
    assert.equal(await scene.inSnapshot(files?.snapshotHandle ?? '', 'log'), 'frozen\n')
    assert.equal(await pod.run('cat /files/log'), 'frozen\nthawed\n')
    await given.cluster.kubectl(['-n', data, 'get', 'volumesnapshot', ofUser])
  })

  it('says in the words of the driver why there is no snapshot of a claim, has the others, and leaves nothing of it', async () => {
    await apply(claimManifest(data, 'sick', classOf(broken)))
    await given.cluster.kubectl([
      ...['-n', data, 'wait', '--for=jsonpath={.status.phase}=Bound', 'pvc/sick', '--timeout=60s'],
    ])
    // The snapshots of the other claims have to be taken within that time, too.
    const { status } = await scene.backUp(
      'sick',
      `--include-namespaces=${data}`,
      '--csi-snapshot-timeout=20s',
    )
    assert.equal(status?.phase, 'PartiallyFailed')
    assert.equal(status?.csiVolumeSnapshotsAttempted, 3)
    assert.equal(status?.csiVolumeSnapshotsCompleted, 2)
    assert.match(await results('sick'), /within 20s; it says: .*cannot get credentials.*pvc-backupper/)
    const objects = await scene.bucket.unpack('sick')
    assert.deepEqual(claimsOf(objects), new Set(['disk', 'files']))
    const infos = (await scene.bucket.readJson('sick', '-volumeinfo.json.gz')) as VolumeInfo[]
    assert.equal(infos.find(each => each.pvcName === 'sick')?.result, 'failed')
    await scene.nothingIsLeft()
  })

  it('removes what is left of one that failed, and not what somebody has copied from it', async () => {
    const manifest = {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'died', namespace },
      spec: { storageLocation: 'default' },
      // Without a request nobody does anything about it, and its snapshots are not looked for.
      status: { phase: 'Deleting' },
    }
    await apply(manifest)
    const uid = await given.cluster.kubectl([
      ...['-n', namespace, 'get', 'backup', 'died', '-o', 'jsonpath={.metadata.uid}'],
    ])
    const name = claimSnapshotName({ backupUid: uid, namespace: data, claim: 'files' })
    const labels = { 'velero.io/backup-name': 'died', 'velero.io/backup-uid': uid }
    await apply(
      snapshot(name, { labels, volumeSnapshotClassName: kept }),
      snapshot('copied', { labels: { ...labels, [ownLabel]: 'yes' } }),
    )
    await snapshotsReady('copied', name)
    const failed = ['--type=merge', '-p', JSON.stringify({ status: { phase: 'Failed' } })]
    await given.cluster.kubectl(['-n', namespace, 'patch', 'backup', 'died', ...failed])
    await given.cluster.kubectl([
      ...['-n', data, 'wait', '--for=delete', `volumesnapshot/${name}`, '--timeout=60s'],
    ])
    await given.cluster.kubectl(['-n', data, 'get', 'volumesnapshot', 'copied'])
    await scene.nothingIsLeft()
  })

  it('leaves nothing of a backup that is cancelled while it waits for a snapshot', async () => {
    await scene.succeed('backup', 'create', 'cancelled', `--include-namespaces=${data}`)
    const waiting = ['--for=jsonpath={.status.phase}=WaitingForPluginOperations', '--timeout=60s']
    await given.cluster.kubectl(['-n', namespace, 'wait', 'backup/cancelled', ...waiting])
    await scene.succeed('backup', 'cancel', 'cancelled', '--confirm')
    const ended = ['--for=jsonpath={.status.phase}=PartiallyFailed', '--timeout=60s']
    await given.cluster.kubectl(['-n', namespace, 'wait', 'backup/cancelled', ...ended])
    await scene.nothingIsLeft()
  })
})
