import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { type Backup, BackupKind, DeleteBackupRequestKind, PodVolumeBackupKind } from '@lateen/api'
import { isNotFound } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { BackupBucket } from './backup-bucket.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { createLocation } from './backups.ts'
import { Deletions } from './deletions.ts'
import { foreignVolume, putForeignBackup } from './foreign-backups.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

const often = { backupSyncPeriod: 200, storeValidationFrequency: 500, logLevel: 'debug' } as const

describe('backups in a bucket that two servers share', { skip: given.skip, concurrency: false }, () => {
  let one: ServerScene
  let two: ServerScene
  let server: RunningServer
  let other: RunningServer

  before(async () => {
    one = await openServerScene(given.cluster, 'sync-one')
    two = await openServerScene(given.cluster, 'sync-two', { prefix: one.namespace })
    await createConfigMaps(one, { count: 3, bytes: 10 })
    server = await one.start(often)
    other = await two.start(often)
  })
  after(async () => {
    await one?.[Symbol.asyncDispose]()
    await two?.[Symbol.asyncDispose]()
  })

  const gone = (scene: ServerScene, name: string) =>
    waitUntil(() => scene.backups.get(name).then(() => undefined, isNotFound), {
      timeoutMs: 60_000,
      failure: () => new Error(`${name} stays in ${scene.namespace}`),
      everyMs: 50,
    })

  /** Waits until a server has looked at a whole bucket that it began with after now. */
  async function looked(at: RunningServer, location = 'default'): Promise<void> {
    const looks = () =>
      at.log.filter(line => /are those of the bucket/.test(line.msg) && line.location === location)
    const before = looks().length
    await waitUntil(async () => looks().length > before + 1 || undefined, {
      timeoutMs: 60_000,
      failure: () => new Error(`nobody looked at ${location}`),
      everyMs: 50,
    })
  }

  const exists = (scene: ServerScene, name: string) =>
    scene.backups.get(name).then(
      () => true,
      error => (isNotFound(error) ? false : Promise.reject(error)),
    )

  /** What a server shows first of a backup that is not there before `put`, be it only for a moment. */
  async function firstShown(name: string, put: () => Promise<void>): Promise<Backup> {
    const ending = new AbortController()
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(120_000)])
    const watchFromNow = async ({ client, namespace }: ServerScene) => {
      const resource = client.resource(BackupKind, namespace)
      const listing = resource.list({ signal })
      await listing.toArray()
      return resource.watch({ resourceVersion: listing.resourceVersion, signal })
    }
    const firstIn = async (watch: Awaited<ReturnType<typeof watchFromNow>>) => {
      for await (const event of watch) {
        if (event.type !== 'BOOKMARK' && event.object.metadata.name === name) return event.object
      }
      throw new Error('a watch does not end by itself')
    }
    const watches = await Promise.all([one, two].map(watchFromNow))
    await put()
    try {
      return await Promise.any(watches.map(firstIn))
    } finally {
      ending.abort()
    }
  }

  it('appear on the other one as they are, and are restored there', async () => {
    const taken = await one.backups.take('ours', {
      includedNamespaces: [one.data],
      hooks: {
        resources: [{ name: 'none', includedNamespaces: ['none'], pre: [{ exec: { command: ['x'] } }] }],
      },
    })
    assert.equal(taken.status?.phase, 'Completed')
    const found = await two.backups.until('ours', () => true)
    assert.deepEqual(found.status, taken.status)
    assert.deepEqual(found.spec, { ...taken.spec, hooks: {} })
    assert.deepEqual(found.metadata.labels, taken.metadata.labels)
    const namespaceMapping = { [one.data]: `${two.data}-restored` }
    const restore = await two.restores.run('back', { backupName: 'ours', namespaceMapping })
    assert.equal(restore.status?.phase, 'Completed')
    const names = await given.cluster.kubectl(['get', 'cm', '-n', `${two.data}-restored`, '-o=name'])
    assert.match(names, /plain-2/)
    await given.cluster.kubectl(['delete', 'namespace', `${two.data}-restored`, '--wait=false'])
  })

  it('vanish from both when they are gone from the bucket', async () => {
    await one.bucket.delete('backups/ours/')
    await gone(one, 'ours')
    await gone(two, 'ours')
  })

  it('do not leave files of restores behind that outlive them', async () => {
    const files = async () => (await one.bucket.keys()).filter(key => key.startsWith('restores/back/'))
    assert.equal(await exists(two, 'ours'), false)
    assert.notDeepEqual(await files(), [])
    await two.restores.delete('back')
    await two.restores.gone('back')
    assert.deepEqual(await files(), [])
  })

  it('are not lost when a server deletes one that was taken again since under its name', async () => {
    await putForeignBackup(one.bucket, { name: 'retaken' })
    const [, stale] = await Promise.all([one, two].map(({ backups }) => backups.until('retaken', () => true)))
    const startTimestamp = '2026-02-01T00:00:00Z'
    await putForeignBackup(one.bucket, { name: 'retaken', status: { phase: 'Completed', startTimestamp } })
    await one.bucket.write('backups/retaken/retaken.tar.gz', Buffer.from('of the later one'))
    const contents = async () =>
      [...(await one.bucket.contents())].filter(([key]) => key.startsWith('backups/retaken/'))
    const before = await contents()
    await new Deletions(two).request('retaken')
    const isLater = ({ status }: Backup) => status?.startTimestamp === startTimestamp
    const shown = await two.backups.until('retaken', isLater)
    assert.notEqual(shown.metadata.uid, stale?.metadata.uid)
    assert.deepEqual(await contents(), before)
    const events = await given.cluster.kubectl([
      'get',
      'events',
      '-n',
      two.namespace,
      '-o=jsonpath={.items[?(@.reason=="BackupReplaced")].message}',
    ])
    assert.match(events, /a backup of the same name that began at 2026-02-01T00:00:00Z/)
    await one.bucket.delete('backups/retaken/')
    await Promise.all([gone(one, 'retaken'), gone(two, 'retaken')])
  })

  it('bring their PodVolumeBackups', async () => {
    const volumes = [foreignVolume('volumes', 'volumes-a'), foreignVolume('volumes', 'volumes-b')]
    await putForeignBackup(one.bucket, { name: 'volumes', volumes })
    for (const scene of [one, two]) {
      const backup = await scene.backups.until(
        'volumes',
        ({ metadata }) => metadata.annotations?.['lateen.dev/synced'] === 'true',
      )
      const found = await scene.client.resource(PodVolumeBackupKind, scene.namespace).list().toArray()
      assert.deepEqual(
        found.map(({ metadata }) => metadata.name),
        ['volumes-a', 'volumes-b'],
      )
      for (const { metadata, spec, status } of found) {
        assert.equal(metadata.ownerReferences?.[0]?.uid, backup.metadata.uid)
        assert.equal(metadata.labels?.['velero.io/backup-uid'], backup.metadata.uid)
        assert.equal(spec.backupStorageLocation, 'default')
        assert.equal(status?.snapshotID, 'abc')
      }
    }
    await one.bucket.delete('backups/volumes/')
    await Promise.all([gone(one, 'volumes'), gone(two, 'volumes')])
  })

  it('get the PodVolumeBackups that a server did not live to create', async () => {
    await server.stop()
    const volumes = [foreignVolume('torn', 'torn-a')]
    await putForeignBackup(one.bucket, { name: 'torn', volumes })
    const { metadata, ...stored } = await one.bucket.metadata('torn')
    const annotations = { 'lateen.dev/synced': 'without-volumes' }
    await one.client.resource(BackupKind, one.namespace).create({
      ...stored,
      metadata: { name: metadata.name ?? '', namespace: one.namespace, annotations },
      spec: { storageLocation: 'default' },
    })
    server = await one.start(often)
    await one.backups.until('torn', now => now.metadata.annotations?.['lateen.dev/synced'] === 'true')
    await one.client.resource(PodVolumeBackupKind, one.namespace).get('torn-a')
  })

  it('come however strange their neighbours are, and each of those is told of once', async () => {
    const { bucket } = one
    await bucket.write('backups/half/half.tar.gz', Buffer.from('x'))
    await bucket.write('backups/Foreign_Folder/readme', Buffer.from('x'))
    await bucket.write('backups/a-file', Buffer.from('x'))
    await bucket.write('backups/damaged/velero-backup.json', Buffer.from('{"kind": "Bac'))
    await bucket.write('backups/empty/velero-backup.json', Buffer.from(''))
    await bucket.write('backups/stranger/velero-backup.json', Buffer.from('{"kind":"Pod"}'))
    await putForeignBackup(bucket, { name: 'Not_A_Name' })
    await putForeignBackup(bucket, { name: 'copied', metadata: { name: 'original' } })
    await putForeignBackup(bucket, { name: 'running', status: { phase: 'InProgress' } })
    const unfinished = { phase: 'Finalizing', expiration: '2099-01-01T00:00:00Z' } as const
    await putForeignBackup(bucket, { name: 'overdue', status: unfinished })
    await bucket.write('backups/no-volumes/no-volumes-podvolumebackups.json.gz', Buffer.from('no gzip'))
    await putForeignBackup(bucket, { name: 'no-volumes' })
    await putForeignBackup(bucket, { name: 'zz-last', status: { phase: 'PartiallyFailed' } })

    const last = await one.backups.until('zz-last', () => true)
    assert.equal(last.status?.phase, 'PartiallyFailed')
    await one.backups.until('no-volumes', () => true)
    await looked(server)
    const shown = (await one.backups.list()).map(({ metadata }) => metadata.name)
    assert.deepEqual(shown, ['no-volumes', 'torn', 'zz-last'])
    const told = server.log.filter(({ msg }) => msg === 'a backup in the bucket cannot be shown')
    assert.deepEqual(told.map(({ backup }) => backup).toSorted(byText), [
      'Not_A_Name',
      'copied',
      'damaged',
      'empty',
      'no-volumes',
      'stranger',
    ])
    const events = await given.cluster.kubectl([
      'get',
      'events',
      '-n',
      one.namespace,
      '-o=jsonpath={.items[?(@.reason=="BackupsNotSynced")].message}',
    ])
    assert.match(events, /damaged: the object .*velero-backup.json is not JSON/)
  })

  it('that never ended come once they have expired, so that they can be deleted', async () => {
    const status = { phase: 'Finalizing', expiration: '2020-01-01T00:00:00Z' } as const
    // Whichever server is first may have deleted it before the other one looks.
    const found = await firstShown('overdue', () => putForeignBackup(one.bucket, { name: 'overdue', status }))
    assert.ok(['PartiallyFailed', 'Deleting'].includes(found.status?.phase ?? ''), found.status?.phase)
    await one.bucket.delete('backups/overdue/')
  })

  it('do not come back while their deletion is requested', async () => {
    await server.stop()
    server = await one.start({ ...often, disabledControllers: ['backup-deletion'] })
    const requests = one.client.resource(DeleteBackupRequestKind, one.namespace)
    await requests.create({
      apiVersion: 'velero.io/v1',
      kind: 'DeleteBackupRequest',
      metadata: { name: 'going', namespace: one.namespace },
      spec: { backupName: 'going' },
    })
    await looked(server)
    await putForeignBackup(one.bucket, { name: 'going' })
    await two.backups.until('going', () => true)
    await looked(server)
    assert.equal(await exists(one, 'going'), false)
    await requests.delete('going')
    await one.backups.until('going', () => true)
  })

  it('that are in two locations show the one that was there first, and the other is told of', async () => {
    const place = { cluster: given.cluster, client: one.client, namespace: one.namespace }
    await createLocation(place, { name: 'second', prefix: `${one.namespace}-second` })
    await one.locations.available('second')
    using second = new BackupBucket(given.cluster, `${one.namespace}-second`)
    await putForeignBackup(second, { name: 'going', metadata: { labels: { from: 'second' } } })
    await putForeignBackup(second, { name: 'only-second' })
    const found = await one.backups.until('only-second', () => true)
    assert.equal(found.spec.storageLocation, 'second')
    await looked(server, 'second')
    assert.equal((await one.backups.get('going')).spec.storageLocation, 'default')
    const told = server.log.filter(
      ({ msg, location }) => /cannot be shown/.test(msg) && location === 'second',
    )
    assert.equal(told.length, 1)
    assert.match(String(told[0]?.reason), /has a backup of this name in location "default"/)
  })

  it('are looked at again in a location that is read-only, and not in one that is unavailable or told never', async () => {
    await one.locations.patch('second', { accessMode: 'ReadOnly' })
    await looked(server, 'second')
    const staysUnseen = async () => {
      // What was under way ends meanwhile.
      await looked(server)
      const before = (await one.locations.get('second')).status?.lastSyncedTime
      await looked(server)
      assert.equal((await one.locations.get('second')).status?.lastSyncedTime, before)
    }
    await one.locations.patch('second', { backupSyncPeriod: '0s' })
    await staysUnseen()
    await one.locations.patch('second', {
      backupSyncPeriod: null,
      objectStorage: { bucket: 'no-such-bucket' },
    })
    await one.locations.unavailable('second')
    await staysUnseen()
    assert.equal(await exists(one, 'only-second'), true)
    await one.locations.delete('second')
    await looked(server)
    assert.equal(await exists(one, 'only-second'), true)
  })

  it('stay when a listing was short and did not say so, or failed', async () => {
    await using proxy = await startShortLists(given.cluster.s3.endpoint)
    const before = await names(two.backups.list())
    assert.ok(before.length > 2)
    const { config } = (await two.locations.get('default')).spec
    await two.locations.patch('default', { config: { ...config, s3Url: proxy.endpoint } })
    await waitUntil(async () => proxy.shortened > 3 || undefined, {
      timeoutMs: 60_000,
      failure: () => new Error('nobody listed the bucket'),
    })
    await looked(other)
    assert.deepEqual(await names(two.backups.list()), before)
    proxy.fail = true
    await waitUntil(async () => proxy.failed > 3 || undefined, {
      timeoutMs: 60_000,
      failure: () => new Error('nobody listed the bucket'),
    })
    assert.deepEqual(await names(two.backups.list()), before)
    await two.locations.patch('default', { config })
  })

  it('have taken their PodVolumeBackups with them', async () => {
    for (const { client, namespace } of [one, two]) {
      const left = async () => {
        const all = await client.resource(PodVolumeBackupKind, namespace).list().toArray()
        return all.map(({ metadata }) => metadata.name).filter(name => name?.startsWith('volumes'))
      }
      await waitUntil(async () => (await left()).length === 0 || undefined, {
        timeoutMs: 120_000,
        failure: () => new Error('PodVolumeBackups stay'),
      })
    }
  })
})

const byText = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1)

async function names(backups: Promise<Backup[]>): Promise<string[]> {
  return (await backups).map(({ metadata }) => metadata.name ?? '')
}

/** Passes everything on, but lists of folders of backups have none in them, or are refused. */
async function startShortLists(target: string) {
  const state = { shortened: 0, failed: 0, fail: false }
  const pass = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = incoming
    const isListing = /[?&]delimiter=/.test(url) && /prefix=[^&]*backups%2F/.test(url)
    if (isListing && state.fail) {
      state.failed += 1
      response.writeHead(403, { 'content-type': 'application/xml' })
      response.end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
      return
    }
    const outgoing = request(new URL(url, target), { method, headers })
    incoming.pipe(outgoing)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const text = (await buffer(answer)).toString()
    if (isListing) state.shortened += 1
    response.writeHead(answer.statusCode ?? 500, { 'content-type': answer.headers['content-type'] ?? '' })
    response.end(isListing ? text.replace(/<CommonPrefixes>.*<\/CommonPrefixes>/s, '') : text)
  }
  // The S3 server may close a connection that is about to be used again; clients repeat that.
  const server = createServer((incoming, response) => {
    pass(incoming, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
