import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { Backup, Restore } from '@lateen/api'
import { type ActionItem, isObjectStoreError, isPluginError, type ObjectStore } from '@lateen/plugin'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { veleroMissing } from './backup-pair.ts'
import { type PluginProcess, startPluginProcess } from './plugin-process.ts'
import { describedFiles, wireShape } from './plugin-reflection.ts'

const skip = await veleroMissing()
const given = await givenCluster({ s3: true })

const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const restore: Restore = {
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'r' },
  spec: { backupName: 'b' },
}

describe("Velero's own plugin program", { skip: skip || given.skip }, () => {
  let velero: PluginProcess
  const running = new AsyncDisposableStack()

  before(async () => {
    const env = { KUBECONFIG: given.cluster.kubeconfigPath }
    velero = running.use(
      await startPluginProcess({ command: await tool('velero'), args: ['run-plugins'], env }),
    )
  })
  after(() => running.disposeAsync())

  it('has the messages and services of our files, bit for bit, but for those that are ours alone', async () => {
    const files = await ourFiles()
    const services = files.flatMap(file => file.service.map(({ name }) => `${file.package}.${name}`))
    const known = services.filter(name => name !== 'v3.BackupItemAction')
    const theirs = wireShape((await describedFiles(velero.handshake, known)).values())
    // No service has messages of google.rpc; that they are read is seen where errors are.
    const ours = [...wireShape(files)].filter(([name]) => !name.startsWith('google.rpc.'))
    const differences = ours.filter(([name, shape]) => !isDeepStrictEqual(theirs.get(name), shape))
    assert.ok(ours.length > 90, `only ${ours.length} messages and methods`)
    assert.deepEqual(
      differences.map(([name]) => name).filter(name => !name.startsWith('v3.')),
      [
        'generated.VolumeSnapshotterProgressRequest',
        'generated.VolumeSnapshotterProgressResponse',
        'generated.VolumeSnapshotterCancelRequest',
        'generated.VolumeSnapshotter/Progress',
        'generated.VolumeSnapshotter/Cancel',
      ],
    )
    const named = new Set(ours.map(([name]) => name))
    const isPluginProtocol = /^(generated|v1|v2|plugin)\./
    assert.deepEqual(
      [...theirs.keys()].filter(name => isPluginProtocol.test(name) && !named.has(name)),
      [],
    )
  })

  it('lists its plugins, and works', async () => {
    await velero.host.checkHealth()
    const listed = (await velero.host.listPlugins()).map(({ kind, name }) => `${kind} ${name}`)
    for (const expected of [
      'BackupItemAction velero.io/pod',
      'BackupItemActionV2 velero.io/csi-pvc-backupper',
      'RestoreItemAction velero.io/job',
      'RestoreItemActionV2 velero.io/csi-pvc-restorer',
      'DeleteItemAction velero.io/dataupload-delete',
      'ItemBlockAction velero.io/pod',
    ]) {
      assert.ok(listed.includes(expected), `${expected} is not in ${listed.join(', ')}`)
    }
  })

  const pod: ActionItem = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      priorityClassName: 'high',
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  }
  const claim = { group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'data' }
  const priority = { group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name: 'high' }

  it('tells the objects that a pod needs, as a backup item action and as an item block action', async () => {
    const action = velero.host.plugin('BackupItemAction', 'velero.io/pod')
    assert.deepEqual(await action.appliesTo(), { includedResources: ['pods'] })
    const { item, additionalItems } = await action.execute({ item: pod, backup })
    assert.deepEqual(item, pod)
    assert.deepEqual(new Set(additionalItems), new Set([claim, priority]))
    const block = velero.host.plugin('ItemBlockAction', 'velero.io/pod')
    assert.deepEqual(new Set(await block.getRelatedItems({ item: pod, backup })), new Set([claim, priority]))
  })

  it('changes a job that is restored', async () => {
    const labels = { 'controller-uid': 'x', 'job-name': 'j', mine: 'kept' }
    const job: ActionItem = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'shop', labels },
      spec: {
        selector: { matchLabels: { 'controller-uid': 'x' } },
        template: { metadata: { labels }, spec: {} },
      },
    }
    const action = velero.host.plugin('RestoreItemAction', 'velero.io/job')
    const { item, skip } = await action.execute({ item: job, itemFromBackup: job, restore })
    assert.equal(skip, undefined)
    const { selector, template } = item.spec as {
      selector: object
      template: { metadata: { labels: object } }
    }
    assert.deepEqual(selector, {})
    assert.deepEqual(template.metadata.labels, { 'job-name': 'j', mine: 'kept' })
  })

  it('tells typed errors, and goes on working', async () => {
    const unknown = velero.host.plugin('BackupItemAction', 'example.com/none')
    await assert.rejects(unknown.appliesTo(), (error: unknown) => isPluginError(error, 'NO_SUCH_PLUGIN'))
    const volumes = velero.host.plugin('VolumeSnapshotter', 'example.com/none')
    await assert.rejects(
      async () => volumes.progress?.({ snapshotId: 's' }),
      (error: unknown) => isPluginError(error, 'UNIMPLEMENTED'),
    )
    const action = velero.host.plugin('BackupItemAction', 'velero.io/pod')
    const large = { ...pod, data: 'x'.repeat(5_000_000) }
    await assert.rejects(action.execute({ item: large, backup }), (error: unknown) => {
      assert.ok(isPluginError(error, 'TOO_LARGE'))
      assert.match(error.message, /Pod shop\/web/)
      return true
    })
    const kindless = { ...pod, kind: '' }
    await assert.rejects(action.execute({ item: kindless, backup }), (error: unknown) => {
      assert.ok(isPluginError(error, 'FAILED'))
      assert.ok(error.frames.length > 0)
      return true
    })
    assert.deepEqual((await action.execute({ item: pod, backup })).item, pod)
  })

  it('fails one call alone when its error text is longer than Node can read', async () => {
    const action = velero.host.plugin('BackupItemAction', 'velero.io/pod')
    for (const length of [60_000, 70_000, 1_000_000]) {
      // The object without a kind is part of the error text.
      const odd = { ...pod, kind: '', text: 'x'.repeat(length) }
      const others = Array.from({ length: 20 }, () => action.execute({ item: pod, backup }))
      await assert.rejects(action.execute({ item: odd, backup }), (error: unknown) => isPluginError(error))
      for (const { item } of await Promise.all(others)) assert.deepEqual(item, pod)
    }
  })

  it('ends when it is told, and a call after that says so', async () => {
    const again = await startPluginProcess({ command: await tool('velero'), args: ['run-plugins'] })
    assert.equal(await again.shutdown(), 0)
    await again[Symbol.asyncDispose]()
    const killed = await startPluginProcess({ command: await tool('velero'), args: ['run-plugins'] })
    killed.child.kill('SIGKILL')
    const action = killed.host.plugin('BackupItemAction', 'velero.io/pod')
    await assert.rejects(action.appliesTo(), (error: unknown) => isPluginError(error) && error.transport)
    await killed[Symbol.asyncDispose]()
  })
})

describe('velero-plugin-for-aws', { skip: skip || given.skip, concurrency: false }, () => {
  let aws: PluginProcess
  const running = new AsyncDisposableStack()
  let store: ObjectStore
  let bucket = ''
  const prefix = `plugin-${randomBytes(4).toString('hex')}/`

  before(async () => {
    const { s3 } = given.cluster
    bucket = s3.bucket
    const env = { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey }
    aws = running.use(await startPluginProcess({ command: await tool('velero-plugin-for-aws'), env }))
    store = aws.host.plugin('ObjectStore', 'velero.io/aws')
    const config = { bucket, prefix: '', region: s3.region, s3Url: s3.endpoint, s3ForcePathStyle: 'true' }
    await store.init({ config })
  })
  after(() => running.disposeAsync())

  it('lists its two plugins', async () => {
    const listed = (await aws.host.listPlugins()).map(({ kind, name }) => `${kind} ${name}`)
    assert.deepEqual(
      new Set(listed),
      new Set(['ObjectStore velero.io/aws', 'VolumeSnapshotter velero.io/aws']),
    )
  })

  it('stores objects of all sizes and gives them back', async () => {
    for (const size of [0, 1, 16_383, 16_384, 16_385, 12_000_000]) {
      const key = `${prefix}sizes/${size}`
      const body = randomBytes(size)
      async function* parts() {
        for (let start = 0; start < size; start += 100_000) yield body.subarray(start, start + 100_000)
      }
      await store.putObject({ bucket, key, body: parts() })
      assert.ok((await buffer(await store.getObject({ bucket, key }))).equals(body), `${size} bytes`)
    }
  })

  it('lists, looks for, signs and deletes objects', async () => {
    const keys = await Array.fromAsync(store.listObjects({ bucket, prefix: `${prefix}sizes/` }))
    assert.equal(keys.length, 6)
    const prefixes = await Array.fromAsync(store.listCommonPrefixes({ bucket, prefix, delimiter: '/' }))
    assert.deepEqual(prefixes, [`${prefix}sizes/`])
    const [key = ''] = keys
    assert.equal(await store.objectExists({ bucket, key }), true)
    const url = await store.createSignedUrl({ bucket, key: `${prefix}sizes/1`, ttlSeconds: 600 })
    const response = await fetch(url)
    assert.equal(response.status, 200)
    assert.equal((await response.arrayBuffer()).byteLength, 1)
    await store.deleteObject({ bucket, key })
    assert.equal(await store.objectExists({ bucket, key }), false)
  })

  it('says NOT_FOUND for what is not there', async () => {
    const missing = store.getObject({ bucket, key: `${prefix}none` })
    await assert.rejects(missing, (error: unknown) => isObjectStoreError(error, 'NOT_FOUND'))
  })

  it('stores nothing when the body fails', async () => {
    async function* broken() {
      yield randomBytes(50_000)
      throw new Error('the source is broken')
    }
    for (let round = 0; round < 30; round += 1) {
      const put = store.putObject({ bucket, key: `${prefix}broken/${round}`, body: broken() })
      await assert.rejects(put, /the source is broken/)
    }
    assert.deepEqual(await Array.fromAsync(store.listObjects({ bucket, prefix: `${prefix}broken/` })), [])
  })

  it('refuses settings that it does not know', async () => {
    const again = aws.host.plugin('ObjectStore', 'velero.io/aws')
    await assert.rejects(again.init({ config: { bucket, oddSetting: 'x' } }), /oddSetting/)
  })
})

/** What our generated files say of themselves. */
async function ourFiles(): Promise<FileDescriptorProto[]> {
  const folder = path.join(import.meta.dirname, '../../packages/plugin/src/proto')
  const files: FileDescriptorProto[] = []
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.ts')) continue
    const source = await readFile(path.join(folder, name), 'utf8')
    const encoded = /fileDesc\("([^"]+)"/.exec(source)?.[1] ?? ''
    files.push(fromBinary(FileDescriptorProtoSchema, base64Decode(encoded)))
  }
  return files
}
