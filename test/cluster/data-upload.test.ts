import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import path from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type DataUpload, DataUploadKind } from '@lateen/api'
import { builtInKind, type KubeObject, type ResourceType } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { type CsiPod, createCsiPod, csiScene } from './csi-scene.ts'
import { whileAgentStands } from './pod-processes.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })
const namespace = 'data-upload'
const shop = 'data-upload-shop'

/** Fills a folder and a device. */
const fill = [
  'mkdir -p /files/deep/er; echo one > /files/one; ln -s ../one /files/deep/link; chmod 640 /files/one',
  'dd if=/dev/urandom of=/files/random bs=1M count=4 2>/dev/null; chown 1000:2000 /files/deep',
  'dd if=/dev/urandom of=/dev/disk bs=1M count=16 2>/dev/null; sync',
].join('; ')

interface Snapshot {
  id: string
  source: { path: string }
  tags: Record<string, string>
  rootEntry: { obj: string }
}

interface VolumeInfo {
  pvcName?: string
  snapshotDataMoved: boolean
  result?: string
  snapshotDataMovementInfo?: { snapshotHandle: string; size: number; Phase: string; operationID: string }
}

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

/** What volumes are made like that snapshots are read from. */
const backupClaim = {
  storageClass: 'csi-waiting',
  annotations: { 'example.com/clone': 'linked' },
  secretNames: ['tenant-key'],
  configMapNames: ['tenant'],
}

interface Claim extends KubeObject {
  spec?: { storageClassName?: string }
}
const ClaimKind = builtInKind<Claim>('PersistentVolumeClaim')
const SecretKind = builtInKind('Secret')
const ConfigMapKind = builtInKind('ConfigMap')

describe('the contents of snapshots', { skip: given.skip, concurrency: false }, async () => {
  before(async () => {
    const config = JSON.stringify({ backupPVC: { csi: backupClaim }, loadConcurrency: { globalConfig: 2 } })
    const items = [
      ...[namespace, shop].map(name => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { config } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'tenant', namespace: shop } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tenant-key', namespace: shop } },
    ]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin })
  })
  const scene = await csiScene(given, { namespace, flags: ['--node-agent-configmap=agents'] })
  const moving = [`--include-namespaces=${shop}`, '--snapshot-move-data']
  let pod: CsiPod
  let first: DataUpload[]

  before(async () => {
    const claims = { files: {}, disk: { mode: 'Block' } } as const
    pod = await createCsiPod(given.cluster, { namespace: shop, claims })
    await pod.run(fill)
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', shop, '--wait=false', '--ignore-not-found']))

  async function uploadsOf(backup: string): Promise<DataUpload[]> {
    const objects = await scene.dataUploads(backup)
    return objects.sort((a, b) => b.spec.sourcePVC.localeCompare(a.spec.sourcePVC))
  }

  /** Notes what there is of a kind beside the installation from now on, until it is asked for. */
  async function seenDuring<T extends KubeObject>(kind: ResourceType<T>): Promise<() => Promise<T[]>> {
    const objects = scene.client.resource(kind, namespace)
    const listing = objects.list()
    const seen = await listing.toArray()
    const ending = new AbortController()
    const { signal } = ending
    const watch = async () => {
      for await (const event of objects.watch({ resourceVersion: listing.resourceVersion, signal })) {
        if (event.type !== 'BOOKMARK') seen.push(event.object)
      }
    }
    const watching = watch().catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    return async () => {
      ending.abort()
      await watching
      return seen
    }
  }

  async function repositoryBytes(): Promise<number> {
    const keys = (await scene.bucket.keys()).filter(key => key.startsWith(`kopia/${shop}/p`))
    const files = await Promise.all(keys.map(key => scene.bucket.read(key)))
    return files.reduce((sum, { length }) => sum + length, 0)
  }

  async function snapshots(t: TestContext): Promise<Snapshot[]> {
    const repository = await scene.kopia(t, shop)
    return repository.json<Snapshot[]>(['snapshot', 'list', '--all'])
  }

  it('are moved into the repository, folder and device, and the snapshots are gone', async () => {
    const claims = await seenDuring(ClaimKind)
    const secrets = await seenDuring(SecretKind)
    const configMaps = await seenDuring(ConfigMapKind)
    const backup = await scene.backUp('first', ...moving)
    assert.equal(backup.status?.phase, 'Completed', await scene.succeed('backup', 'logs', 'first'))
    first = await uploadsOf('first')
    assert.deepEqual(
      first.map(({ spec, status }) => [spec.sourcePVC, status?.phase, status?.node, status?.acceptedByNode]),
      ['files', 'disk'].map(claim => [claim, 'Completed', ...Array(2).fill(first[0]?.status?.node)]),
    )
    await scene.nothingIsLeft()
    assert.deepEqual(await scene.driverSnapshots(), [])
    const [files] = first
    const claim = (await claims()).find(({ metadata }) => metadata.name === files?.metadata.name)
    assert.equal(claim?.spec?.storageClassName, backupClaim.storageClass)
    assert.equal(claim?.metadata.annotations?.['example.com/clone'], 'linked')
    for (const [kind, name, seen] of [
      [SecretKind, 'tenant-key', await secrets()],
      [ConfigMapKind, 'tenant', await configMaps()],
    ] as const) {
      assert.ok(
        seen.some(({ metadata }) => metadata.name === name),
        `no copy of ${name}`,
      )
      const left = await scene.client.resource(kind, namespace).list().toArray()
      assert.ok(!left.some(({ metadata }) => metadata.name === name), `the copy of ${name} is left`)
    }
  })

  it('are what kopia reads of them', async t => {
    const repository = await scene.kopia(t, shop)
    const listed = await snapshots(t)
    const [files, disk] = first.map(({ status }) => listed.find(({ id }) => id === status?.snapshotID))
    assert.equal(files?.source.path, `snapshot-data-upload-download/kopia/${shop}/files`)
    assert.equal(disk?.source.path, `snapshot-data-upload-download/kopia/${shop}/disk`)
    const operation = first[0]?.metadata.labels?.['velero.io/async-operation-id']
    assert.equal(files?.tags['velero.io/async-operation-id'], operation)
    await repository.verify()
    const restored = await repository.restore(files?.id ?? '')
    assert.equal(
      `${await digest(path.join(restored, 'random'))}  -\n`,
      await pod.run('sha256sum < /files/random'),
    )
    const shown = await repository.kopia(['show', disk?.rootEntry.obj ?? ''])
    const device: { entries: { obj: string }[] } = JSON.parse(shown)
    const image = await repository.restore(device.entries[0]?.obj ?? '')
    assert.equal(await digest(image), await pod.checksum('disk'))
  })

  it('are in the archive with their results, and told of in the volume info', async () => {
    const archive = await scene.bucket.unpack('first')
    const infos = (await scene.bucket.readJson('first', '-volumeinfo.json.gz')) as VolumeInfo[]
    for (const { metadata, spec, status } of first) {
      const stored = archive.get(
        `resources/datauploads.velero.io/namespaces/${namespace}/${metadata.name}.json`,
      ) as DataUpload | undefined
      assert.deepEqual(stored?.status, status)
      const info = infos.find(({ pvcName }) => pvcName === spec.sourcePVC)
      assert.equal(info?.snapshotDataMoved, true)
      assert.equal(info?.result, 'succeeded')
      const { snapshotHandle, size, Phase, operationID } = info?.snapshotDataMovementInfo ?? {}
      assert.deepEqual([snapshotHandle, Phase], [status?.snapshotID, 'Completed'])
      assert.equal(size, status?.progress?.totalBytes)
      assert.equal(operationID, metadata.labels?.['velero.io/async-operation-id'])
    }
    assert.equal(first[1]?.status?.progress?.bytesDone, 16 << 20, 'all of the device')
    const kinds = [...archive.values()].map(({ kind }) => kind)
    assert.deepEqual(
      kinds.filter(kind => kind?.startsWith('VolumeSnapshot')),
      [],
    )
  })

  it('are moved once: the next backup reads what is new', async t => {
    await pod.run(
      'echo two > /files/two; dd if=/dev/urandom of=/dev/disk bs=1M count=1 seek=15 2>/dev/null; sync',
    )
    const before = await repositoryBytes()
    const backup = await scene.backUp('second', ...moving)
    assert.equal(backup.status?.phase, 'Completed')
    const [files, disk] = await uploadsOf('second')
    assert.equal(files?.status?.incrementalBytes, 4, 'the new file')
    assert.ok((files?.status?.progress?.totalBytes ?? 0) > 4 << 20)
    // Pieces of a device have at most 8 MiB, and the last one is new.
    const written = (await repositoryBytes()) - before
    assert.ok(written < 10 << 20, `${written} bytes of the device and the file`)
    const device = (await snapshots(t)).filter(({ source }) => source.path.endsWith('/disk'))
    assert.equal(device.length, 2)
    assert.ok(device.some(({ id }) => id === disk?.status?.snapshotID))
  })

  it('are let go of when the backup is cancelled', async () => {
    await scene.succeed('backup', 'create', 'unwanted', ...moving)
    await untilSeen('a DataUpload that somebody took', async () =>
      (await scene.dataUploads('unwanted')).some(({ status }) => status?.acceptedByNode),
    )
    await whileAgentStands({ cluster: given.cluster, namespace }, () =>
      scene.succeed('backup', 'cancel', 'unwanted', '--confirm'),
    )
    await scene.nothingIsLeft()
    const phases = (await scene.dataUploads('unwanted')).map(({ status }) => status?.phase)
    assert.ok(
      phases.every(phase => /^(Canceled|Completed)$/.test(phase ?? '')),
      phases.join(),
    )
  })

  it('are left to other movers where those are named', async () => {
    const objects = scene.client.resource(DataUploadKind, namespace)
    const { metadata: _, status: __, ...like } = first[0] ?? assert.fail('no DataUpload')
    const create = (name: string, datamover: string) =>
      objects.create({ ...like, metadata: { name }, spec: { ...like.spec, datamover, cancel: true } })
    await create('theirs', 'other')
    await create('ours', 'velero')
    await untilSeen('the end of ours', async () => (await objects.get('ours')).status?.phase === 'Canceled')
    const { status, metadata } = await objects.get('theirs')
    assert.deepEqual([status, metadata.finalizers], [undefined, undefined])
    await objects.delete('theirs')
  })
})
