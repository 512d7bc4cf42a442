import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PodVolumeBackupKind } from '@lateen/api'
import { rawEntry, tarGz } from '../../packages/server/src/restore/archive/testing/raw-tar.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from '../cluster/backup-server-scene.ts'
import { foreignVolume, putForeignBackup } from '../cluster/foreign-backups.ts'
import { archiveOf, configMap, stored } from '../cluster/restore-harness.ts'
import type { RunningServer } from '../cluster/storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('a bucket that somebody else can write to', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer

  before(async () => {
    scene = await openServerScene(given.cluster, 'hostile-bucket')
  })
  after(() => scene?.[Symbol.asyncDispose]())

  const write = (name: string, text: string) =>
    scene.bucket.write(`backups/${name}/velero-backup.json`, Buffer.from(text))

  /** A backup of whatever shape, under its own name. */
  const putBackup = (name: string, parts: object) =>
    write(
      name,
      JSON.stringify({
        ...{ apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name } },
        ...{ spec: {}, status: { phase: 'Completed' } },
        ...parts,
      }),
    )

  /** A backup with an archive and a list of volumes of whatever shape, which the server finds by itself. */
  async function storeArchive(name: string, archive: Buffer, infos = gzipSync('[]')): Promise<void> {
    await scene.bucket.write(`backups/${name}/${name}.tar.gz`, archive)
    await scene.bucket.write(`backups/${name}/${name}-volumeinfo.json.gz`, infos)
    await putForeignBackup(scene.bucket, { name })
    await scene.backups.until(name, () => true)
  }

  /** Why a restore of everything came to nothing. */
  async function failureOf(name: string): Promise<string> {
    const { status } = await scene.restores.run(name, { backupName: name })
    assert.equal(status?.phase, 'Failed', JSON.stringify(status))
    return status?.failureReason ?? ''
  }

  const told = () =>
    new Map(
      server.log
        .filter(({ msg }) => msg === 'a backup in the bucket cannot be shown')
        .map(({ backup, reason }) => [backup, String(reason)]),
    )

  it('cannot keep honest backups away by dishonest ones, each of which is told of', async () => {
    const hostile: Record<string, RegExp> = {
      'labels-of-text': /metadata.labels must be/,
      'owners-no-list': /metadata.ownerReferences must be/,
      'owner-null': /metadata.ownerReferences must be/,
      'annotation-nested': /metadata.annotations must be/,
      'name-a-number': /metadata.name must be/,
      'label-invalid': /labels/,
      'too-deep': /is nested 50\d\d\d deep, more than 200/,
      'too-large-to-read': /is longer than \d+ bytes/,
      'too-large-for-etcd': /too large|larger than max/i,
      'too-large-for-api': /too large|larger than max/i,
      'bomb-of-volumes': /podvolumebackups.json.gz is a bomb/,
    }
    const meta = (name: string, metadata: object) => putBackup(name, { metadata: { name, ...metadata } })
    await meta('labels-of-text', { labels: 'text' })
    await meta('owners-no-list', { ownerReferences: { length: 1 } })
    await meta('owner-null', { ownerReferences: [null] })
    await meta('annotation-nested', { annotations: { a: { b: 'c' } } })
    await putBackup('name-a-number', { metadata: { name: 7 } })
    await meta('label-invalid', { labels: { 'not a label': '!' } })
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    await write('too-deep', `{"apiVersion":"velero.io/v1","kind":"Backup","metadata":{},"spec":${deep}}`)
    await write('too-large-to-read', JSON.stringify({ text: 'x'.repeat(9 << 20) }))
    const megabytes = (count: number) => ({ includedNamespaces: ['x'.repeat(count << 20)] })
    await putBackup('too-large-for-etcd', { spec: megabytes(2) })
    await putBackup('too-large-for-api', { spec: megabytes(5) })
    const bomb = gzipSync(Buffer.alloc(64 << 20, '['), { level: 9 })
    await scene.bucket.write('backups/bomb-of-volumes/bomb-of-volumes-podvolumebackups.json.gz', bomb)
    await putBackup('bomb-of-volumes', {})
    await putForeignBackup(scene.bucket, { name: 'zz-honest', volumes: [foreignVolume('zz-honest', 'v')] })

    server = await scene.start({ backupSyncPeriod: 200, logLevel: 'debug' })
    const honest = await scene.backups.until(
      'zz-honest',
      ({ metadata }) => metadata.annotations?.['lateen.dev/synced'] === 'true',
    )
    assert.equal(honest.status?.phase, 'Completed')
    await scene.client.resource(PodVolumeBackupKind, scene.namespace).get('v')
    await scene.backups.until('bomb-of-volumes', () => true)
    await scene.locations.until('default', ({ lastSyncedTime }) => Boolean(lastSyncedTime))
    for (const [name, reason] of Object.entries(hostile)) assert.match(told().get(name) ?? '', reason, name)
    const shown = (await scene.backups.list()).map(({ metadata }) => metadata.name)
    assert.deepEqual(shown, ['bomb-of-volumes', 'zz-honest'])
  })

  it('cannot bring into the cluster what would act there: owners, finalizers, namespaces, hooks', async () => {
    await putForeignBackup(scene.bucket, {
      name: 'trojan',
      metadata: {
        namespace: 'kube-system',
        generateName: 'x-',
        finalizers: ['example.com/never'],
        deletionTimestamp: '2020-01-01T00:00:00Z',
        managedFields: [{ manager: 'other' }],
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Namespace', name: 'kube-system', uid: 'x', blockOwnerDeletion: true },
          { apiVersion: 'velero.io/v1', kind: 'Schedule', name: 'daily', uid: 'x' },
        ],
      },
      spec: {
        storageLocation: 'other-location',
        hooks: { resources: [{ name: 'h', pre: [{ exec: { command: ['rm', '-rf', '/'] } }] }] },
      },
    })
    const { metadata, spec } = await scene.backups.until('trojan', () => true)
    assert.equal(metadata.namespace, scene.namespace)
    assert.equal(metadata.finalizers, undefined)
    assert.equal(metadata.ownerReferences, undefined)
    assert.equal(metadata.deletionTimestamp, undefined)
    assert.equal(spec.storageLocation, 'default')
    assert.deepEqual(spec.hooks, {})
    await assert.rejects(given.cluster.kubectl(['get', '-n', 'kube-system', 'backups.velero.io/trojan']))
  })

  it('cannot take over a backup of another location by its name', async () => {
    const elsewhere = await scene.bucket.metadata('zz-honest')
    const metadata = { name: 'taken', namespace: scene.namespace }
    const spec = { storageLocation: 'other-location' }
    const object = { ...elsewhere, metadata, spec, status: { phase: 'Completed' } }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })
    await putForeignBackup(scene.bucket, { name: 'taken', metadata: { labels: { from: 'bucket' } } })
    await putForeignBackup(scene.bucket, { name: 'zz-later' })
    await scene.backups.until('zz-later', () => true)
    const { spec: now, metadata: kept } = await scene.backups.get('taken')
    assert.equal(now.storageLocation, 'other-location')
    assert.equal(kept.labels?.from, undefined)
  })

  const objectAt = (path: string, object: object) => rawEntry({ path, content: JSON.stringify(object) })
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'kube-system' } }
  const traversals: Record<string, { entry: () => Buffer; says: RegExp }> = {
    'zip-slip': {
      entry: () => objectAt('resources/../../../../tmp/lateen-slipped.json', {}),
      says: /leads out of its folder/,
    },
    'name-of-a-sibling': {
      entry: () => objectAt('../archive-bodies-evil/x.json', {}),
      says: /leads out of its folder/,
    },
    'absolute-name': { entry: () => objectAt('/tmp/lateen-slipped.json', {}), says: /is absolute/ },
    'symbolic-link': { entry: () => rawEntry({ path: 'resources/x', flag: '2' }), says: /of the type "2"/ },
    'hard-link': { entry: () => rawEntry({ path: 'resources/x', flag: '1' }), says: /of the type "1"/ },
    'device-node': { entry: () => rawEntry({ path: 'resources/x', flag: '4' }), says: /of the type "4"/ },
    'named-pipe': { entry: () => rawEntry({ path: 'resources/x', flag: '6' }), says: /of the type "6"/ },
    'same-entry-twice': {
      entry: () => {
        const path = 'resources/configmaps/namespaces/n/a.json'
        const named = (data: object) => configMap({ namespace: 'n', name: 'a' }, { ...data })
        return Buffer.concat([objectAt(path, named({ a: '1' })), objectAt(path, named({ a: '2' }))])
      },
      says: /twice/,
    },
  }
  for (const [name, { entry, says }] of Object.entries(traversals)) {
    it(`cannot smuggle anything past a restore by an archive with a ${name.replaceAll('-', ' ')}`, async () => {
      const honest = objectAt(
        `resources/configmaps/namespaces/${scene.data}/honest-${name}.json`,
        configMap({ namespace: scene.data, name: `honest-${name}` }),
      )
      await storeArchive(name, tarGz(honest, entry()))
      assert.match(await failureOf(name), says)
      await assert.rejects(given.cluster.kubectl(['get', 'cm', '-n', scene.data, `honest-${name}`]))
    })
  }

  it('cannot fill the disk by an archive that is a bomb', async () => {
    const zeros = gzipSync(Buffer.alloc(16 << 20), { level: 9 })
    await storeArchive('bomb', Buffer.concat(Array(20).fill(zeros)))
    assert.match(await failureOf('bomb'), /over 500 times as many/)
  })

  it('cannot fill memory by a list of volumes that is a bomb', async () => {
    const archive = archiveOf(stored(configMap({ namespace: scene.data, name: 'beside-a-bomb' })))
    const bomb = gzipSync(Buffer.alloc(64 << 20, '['), { level: 9 })
    await storeArchive('bomb-of-infos', archive, bomb)
    assert.match(await failureOf('bomb-of-infos'), /volumeinfo.json.gz is a bomb/)
  })

  it('cannot get an object past the filters of a restore under the path of another', async () => {
    const archive = tarGz(
      objectAt(`resources/configmaps/namespaces/${scene.data}/a.json`, secret),
      objectAt(`resources/configmaps/namespaces/${scene.data}/b.json`, {
        ...secret,
        metadata: { name: 'b', namespace: scene.data },
      }),
      objectAt(`resources/configmaps/namespaces/${scene.data}/c.json`, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'c', namespace: scene.data },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [],
      }),
    )
    await storeArchive('disguised', archive)
    const spec = { backupName: 'disguised', includedResources: ['configmaps'] }
    const { status } = await scene.restores.run('disguised', spec)
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    const { errors } = await scene.bucket.restoreResults('disguised')
    assert.equal(Object.values(errors.namespaces ?? {}).flat().length, 3, JSON.stringify(errors))
    for (const args of [
      ['secret', '-n', 'kube-system', 'a'],
      ['secret', '-n', scene.data, 'b'],
    ])
      await assert.rejects(given.cluster.kubectl(['get', ...args]))
    await assert.rejects(given.cluster.kubectl(['get', 'clusterrolebinding', 'c']))
  })

  it('has not cost the server its life', async () => {
    assert.equal(await Promise.race([server.exited, Promise.resolve('alive')]), 'alive')
    assert.equal((await fetch(`${server.url}/metrics`)).status, 200)
  })
})
