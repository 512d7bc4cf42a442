import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { BackupKind, BackupStorageLocationKind, PodVolumeBackupKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { makePluginFolder, type PluginFolder } from '../compat/plugin-folder.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { createLocation } from './backups.ts'
import { Deletions } from './deletions.ts'
import { type MisbehavingProxy, type NextMisbehaviour, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { createCopied, OperationsFolder } from './operations-folder.ts'
import { createFolderVolumes, snapshotLocation } from './snapshot-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('the deletion of a backup', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let proxy: MisbehavingProxy
  let server: RunningServer
  let deletions: Deletions
  let operations: OperationsFolder
  let programs: PluginFolder
  let misbehave: NextMisbehaviour = () => undefined
  const stack = new AsyncDisposableStack()
  const places: string[] = []

  before(async () => {
    operations = stack.use(await OperationsFolder.create())
    programs = stack.use(await makePluginFolder())
    // They are started often.
    const env = {
      NODE_COMPILE_CACHE: path.join(programs.notes, 'compiled'),
      DELETION_NOTES: path.join(programs.notes, 'deleted'),
    }
    await programs.launcher('operations', { command: [path.join(operations.plugins, 'operations')], env })
    const sources = ['../../examples/delete-item-action.ts', 'snapshot-plugin.ts', 'deletion-plugin.ts']
    for (const source of sources) {
      const command = [process.execPath, path.resolve(import.meta.dirname, source)]
      await programs.launcher(path.basename(source, '.ts'), { command, env })
    }
    proxy = stack.use(await startMisbehavingProxy(given.cluster.s3.endpoint, request => misbehave(request)))
    scene = stack.use(await openServerScene(given.cluster, 'deletion', { s3Url: proxy.endpoint }))
    deletions = new Deletions(scene)
    server = await scene.start({
      ...{ pluginFolder: programs.path, itemOperationSyncFrequency: 1_000, concurrentBackups: 2 },
      backupSyncPeriod: 0,
    })
    await configMap('plain', {})
    await configMap('copied', { 'example.lateen.dev/copied': 'true' })
    await configMap('noted', { deletion: 'noted' })
  })
  after(async () => {
    await stack.disposeAsync()
    if (places.length > 0)
      await given.cluster.kubectl(['delete', 'namespace', ...places, '--wait=false', '--ignore-not-found'])
  })

  async function configMap(name: string, labels: object, namespace = scene.data): Promise<void> {
    const item = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels } }
    await scene.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(item) })
  }

  async function take(name: string, spec: object = {}): Promise<void> {
    const { status } = await scene.backups.take(name, { includedNamespaces: [scene.data], ...spec })
    assert.equal(status?.phase, 'Completed', JSON.stringify(status))
  }

  function from(backupName: string, place: string) {
    const target = `${scene.data}-${place}`
    if (!places.includes(target)) places.push(target)
    return { backupName, includedNamespaces: [scene.data], namespaceMapping: { [scene.data]: target } }
  }

  /** Keys in the bucket that belong to a backup or restore of that name. */
  const keysOf = async (name: string) => (await scene.bucket.keys()).filter(key => key.split('/')[1] === name)
  const noted = async () => (await readFile(path.join(programs.notes, 'deleted'), 'utf8')).split('\n')
  const events = async (reason: string) => {
    const args = ['get', 'events', '-n', scene.namespace, '-o', 'jsonpath={.items[*].reason}']
    return (await scene.cluster.kubectl(args)).split(' ').filter(each => each === reason)
  }

  it('removes all that belongs to it and nothing else, after its delete item actions', async () => {
    await take('whole')
    await take('kept')
    assert.equal((await scene.restores.run('from-whole', from('whole', 'one'))).status?.phase, 'Completed')
    assert.equal((await scene.restores.run('from-kept', from('kept', 'two'))).status?.phase, 'Completed')
    await scene.bucket.write('backups/whole/notes/by-hand.txt', Buffer.from('of somebody else'))
    await scene.bucket.write('backups/whole-too/velero-backup.json', Buffer.from('{}'))
    const kept = [...(await keysOf('kept')), ...(await keysOf('from-kept')), ...(await keysOf('whole-too'))]

    await deletions.request('whole')
    await deletions.done('whole')

    assert.deepEqual(new Set(await scene.bucket.keys()), new Set(kept))
    const restores = (await scene.restores.list()).map(({ metadata }) => metadata.name)
    assert.deepEqual(restores, ['from-kept'])
    assert.deepEqual(
      (await noted()).filter(line => line.startsWith('whole ')),
      ['whole Deleting noted'],
    )
    const copies = server.log.filter(({ msg }) => msg === 'Removing the copy of a content')
    assert.deepEqual(
      copies.map(({ backupName }) => backupName),
      ['whole'],
    )
  })

  it('is refused when there is no such backup, or none is named', async () => {
    const unknown = await deletions.refused(await deletions.request('unknown'))
    assert.deepEqual(unknown, ['backup deletion failed: backup not found'])
    const nameless = await deletions.refused(await deletions.request(''))
    assert.deepEqual(nameless, ['backup deletion failed: spec.backupName is required'])
  })

  it('is not for a later backup of the same name', async () => {
    const request = await deletions.request('kept', { 'velero.io/backup-uid': 'of-an-earlier-one' })
    assert.match(String(await deletions.refused(request)), /backup not found/)
    assert.equal((await scene.backups.get('kept')).status?.phase, 'Completed')
  })

  it('happens once when it is asked for several times', async () => {
    await take('often')
    await Promise.all([1, 2, 3].map(() => deletions.request('often')))
    await deletions.done('often')
    assert.deepEqual(await keysOf('often'), [])
    assert.equal((await noted()).filter(line => line.startsWith('often ')).length, 1)
  })

  it('stops the operations that a backup waits for', async () => {
    places.push(
      await createCopied(scene, 'waits', [{ name: 'slow' }, { name: 'stuck', behaviour: 'cancel-error' }]),
    )
    await scene.backups.create('waits', { includedNamespaces: places.slice(-1) })
    await scene.backups.until('waits', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    await deletions.request('waits')
    await deletions.done('waits')
    assert.equal((await operations.cancelled('waits')).length, 2)
    assert.deepEqual(await keysOf('waits'), [])
    // Who asks about operations would have put their file back.
    await sleep(1_200)
    assert.deepEqual(await keysOf('waits'), [])
  })

  it('deletes snapshots of volumes, and keeps the files for as long as one of these is left', async () => {
    const namespace = `${scene.data}-volumes`
    const folder = path.join(programs.notes, 'storage')
    places.push(namespace)
    await scene.cluster.kubectl(['create', 'namespace', namespace])
    await createFolderVolumes({ cluster: scene.cluster, folder, namespace }, [
      { name: 'pages', storage: 'us' },
    ])
    const config = { path: folder, owns: 'us' }
    const snapshots = snapshotLocation('disks', scene.namespace, {
      provider: 'example.com/recording',
      config,
    })
    const create = () => scene.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(snapshots) })
    await create()
    await take('volumes', { includedNamespaces: [namespace], volumeSnapshotLocations: ['disks'] })
    assert.deepEqual(await readdir(path.join(folder, 'snapshots')), ['volumes-pages'])
    await scene.cluster.kubectl(['delete', 'vsl', 'disks', '-n', scene.namespace])
    const request = await deletions.request('volumes')
    await deletions.until(request, ({ status }) =>
      /error deleting snapshot volumes-pages: .*disks.* not found/.test(String(status?.errors)),
    )
    assert.ok((await keysOf('volumes')).includes('backups/volumes/velero-backup.json'))
    await create()
    await deletions.done('volumes')
    assert.deepEqual(await readdir(path.join(folder, 'snapshots')), [])
    assert.deepEqual(await keysOf('volumes'), [])
    await scene.cluster.kubectl(['delete', 'pv', '-l', `example.com/of=${namespace}`, '--wait=false'])
  })

  it('ends what is still moved of its volumes, so that its snapshot is forgotten and does not come after it', async () => {
    await take('moving')
    const { uid = '' } = (await scene.backups.get('moving')).metadata
    const moves = scene.client.resource(PodVolumeBackupKind, scene.namespace)
    const labels = { 'velero.io/backup-name': 'moving', 'velero.io/backup-uid': uid }
    // There is no node agent: the test does what one would do.
    await moves.create({
      apiVersion: 'velero.io/v1',
      kind: 'PodVolumeBackup',
      metadata: { name: 'moving-data', namespace: scene.namespace, labels },
      spec: {
        ...{ node: '', volume: 'data', uploaderType: 'kopia' },
        pod: { kind: 'Pod', namespace: scene.data, name: 'db', uid: 'u' },
        backupStorageLocation: 'default',
        repoIdentifier: '',
      },
      status: { phase: 'InProgress' },
    })
    await deletions.request('moving')
    await waitUntil(async () => (await moves.get('moving-data')).spec.cancel, {
      timeoutMs: 120_000,
      failure: () => new Error('it is not cancelled'),
      everyMs: 50,
    })
    assert.ok((await keysOf('moving')).includes('backups/moving/velero-backup.json'))
    const status = { phase: 'Completed', snapshotID: 'late' }
    await moves.patch('moving-data', { type: 'merge', body: { status } })
    await deletions.done('moving')
    assert.deepEqual(await keysOf('moving'), [])
    const isForgotten = server.log.some(
      ({ msg, volumeNamespace }) =>
        msg === 'the repository of deleted volumes does not exist' && volumeNamespace === scene.data,
    )
    assert.ok(isForgotten)
    await moves.delete('moving-data').catch(unlessNotFound)
  })

  it('is refused while the backup is in progress, and not while it is in the queue', async () => {
    const release = hold(
      ({ method, url }) => method === 'PUT' && Boolean(url?.includes('/backups/running/running.tar.gz')),
    )
    await scene.backups.create('running', { includedNamespaces: [scene.data] })
    await scene.backups.until('running', ({ status }) => status?.phase === 'InProgress')
    const errors = await deletions.refused(await deletions.request('running'))
    assert.deepEqual(errors, ['backup deletion failed: backup is still in progress'])
    // One that waits for it in the queue never begins.
    await scene.backups.create('queued', { includedNamespaces: [scene.data] })
    await scene.backups.until('queued', ({ status }) => status?.phase === 'Queued')
    await deletions.request('queued')
    await deletions.done('queued')
    release()
    assert.equal((await scene.backups.ended('running')).status?.phase, 'Completed')
    await deletions.request('running')
    await deletions.done('running')
  })

  it('waits for a restore that reads the backup', async () => {
    const release = hold(
      ({ method, url }) => method === 'PUT' && Boolean(url?.includes('/restores/reading/')),
    )
    await scene.restores.create('reading', from('kept', 'three'))
    await scene.restores.until('reading', ({ status }) => status?.phase === 'InProgress')
    const before = await keysOf('kept')
    await deletions.request('kept')
    await waitUntil(
      async () => server.log.some(({ waitsFor }) => waitsFor === 'the restore reading to end'),
      {
        timeoutMs: 60_000,
        failure: () => new Error('it does not wait'),
      },
    )
    assert.deepEqual(await keysOf('kept'), before)
    const late = await scene.restores.run('late', from('kept', 'four'))
    assert.equal(late.status?.phase, 'FailedValidation')
    assert.match(String(late.status?.validationErrors), /Deleting/)
    release()
    // Its files go with it, so what became of it is in an event.
    await deletions.done('kept')
    assert.deepEqual([...(await keysOf('kept')), ...(await keysOf('reading'))], [])
    assert.ok(
      server.log.some(
        ({ msg, restore, phase }) =>
          msg === 'restore moved' && restore === 'reading' && phase === 'Completed',
      ),
    )
  })

  it('goes on where files are missing or damaged, and says what may be left', async () => {
    await take('damaged')
    const at = (file: string) => `backups/damaged/damaged${file}`
    const archive = await scene.bucket.read(at('.tar.gz'))
    await scene.bucket.write(at('.tar.gz'), archive.subarray(0, archive.length / 2))
    await scene.bucket.write(at('-volumesnapshots.json.gz'), Buffer.from('no gzip'))
    await scene.bucket.write(at('-itemoperations.json.gz'), gzipSync('{"no":"list"}'))
    await deletions.request('damaged')
    await deletions.done('damaged')
    assert.deepEqual(await keysOf('damaged'), [])
    assert.equal((await events('BackupArchiveDamaged')).length, 1)
    assert.equal((await events('BackupSnapshotsUnknown')).length, 1)
  })

  it('is taken up where Velero left it, though the bucket is empty', async () => {
    const metadata = { name: 'lost', namespace: scene.namespace }
    const status = { phase: 'Deleting', startTimestamp: '2026-01-01T00:00:00Z' } as const
    const spec = { storageLocation: 'default' }
    const lost = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec, status }
    await scene.client.resource(BackupKind, scene.namespace).create(lost)
    await deletions.request('lost', {}, { phase: 'InProgress' })
    await deletions.done('lost')
  })

  it('leaves alone what belongs to others where the backup never began', async () => {
    const foreign = 'backups/foreign/velero-backup.json'
    await scene.bucket.write(foreign, Buffer.from('{}'))
    const failed = await scene.backups.take('foreign')
    assert.match(failed.status?.failureReason ?? '', /already exists in object storage/)
    const invalid = await scene.backups.take('invalid', { storageLocation: 'nowhere' })
    assert.equal(invalid.status?.phase, 'FailedValidation')
    for (const name of ['foreign', 'invalid']) await deletions.request(name)
    for (const name of ['foreign', 'invalid']) await deletions.done(name)
    assert.deepEqual(await keysOf('foreign'), [foreign])
  })

  it('is tried again when a plugin dies, and goes on when one refuses', async () => {
    const namespace = `${scene.data}-faulty`
    places.push(namespace)
    await scene.cluster.kubectl(['create', 'namespace', namespace])
    for (const name of ['dies', 'refuses']) await configMap(name, { deletion: 'noted' }, namespace)
    await take('faulty', { includedNamespaces: [namespace] })
    // The next attempt comes within a second, and would take the request with it.
    const release = hold(
      ({ method, url }) => method === 'DELETE' && Boolean(url?.includes('/backups/faulty/')),
    )
    const request = await deletions.request('faulty')
    const { status } = await deletions.until(request, ({ status }) => (status?.errors ?? []).length > 0)
    assert.equal(status?.phase, 'InProgress')
    assert.match(String(status?.errors), /error invoking delete item actions: configmaps .*\/dies/)
    assert.ok((await keysOf('faulty')).length > 0)
    release()
    await deletions.done('faulty')
    assert.deepEqual(await keysOf('faulty'), [])
    assert.ok(server.log.some(({ msg, error }) => msg === 'a delete item action failed' && error))
  })

  it('is refused where a location may not be written to, and tried again while a bucket fails or its location is gone', async () => {
    await createLocation(scene, {
      name: 'second',
      prefix: scene.namespace,
      s3Url: proxy.endpoint,
      secret: false,
    })
    const locations = scene.client.resource(BackupStorageLocationKind, scene.namespace)
    const location = await locations.patch('second', {
      type: 'merge',
      body: { spec: { credential: { name: 'cloud', key: 'cloud' } } },
    })
    await scene.locations.available('second')
    await take('elsewhere', { storageLocation: 'second' })
    const access = (accessMode: 'ReadOnly' | 'ReadWrite') =>
      locations.patch('second', { type: 'merge', body: { spec: { accessMode } } })
    await access('ReadOnly')
    assert.deepEqual(await deletions.refused(await deletions.request('elsewhere')), [
      'backup deletion failed: cannot delete backup because backup storage location second is currently in read-only mode',
    ])
    await access('ReadWrite')

    // Every file but one is deleted, slowly, and some answers get lost.
    let count = 0
    misbehave = async ({ method, url }) => {
      if (method !== 'DELETE') return undefined
      await sleep(20)
      count += 1
      if (url?.includes('-logs.gz')) return 'slow-down'
      return count % 3 === 0 ? 'lost-answer' : undefined
    }
    const request = await deletions.request('elsewhere')
    const failing = await deletions.until(request, ({ status }) => (status?.errors ?? []).length > 0)
    assert.match(String(failing.status?.errors), /error removing backup from backup storage/)
    assert.ok(!(await keysOf('elsewhere')).some(key => key.endsWith('velero-backup.json')))
    await locations.delete('second')
    await deletions.until(request, ({ status }) => /second not found/.test(String(status?.errors)))
    let lists = 0
    misbehave = async ({ method, url }) => {
      if (method !== 'GET' || !url?.includes('list-type=2') || !url.includes('elsewhere')) return undefined
      await sleep(200)
      lists += 1
      return lists < 3 ? 'cut-body' : undefined
    }
    await scene.locations.create('second', location.spec)
    await deletions.done('elsewhere')
    assert.deepEqual(await keysOf('elsewhere'), [])
    assert.ok(lists >= 3, `${lists} lists`)
    misbehave = () => undefined
  })

  /** Keeps requests of a sort from coming through until they are released. */
  function hold(which: (request: Parameters<NextMisbehaviour>[0]) => boolean): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    misbehave = async request => {
      if (which(request)) await promise
      return undefined
    }
    return () => {
      misbehave = () => undefined
      resolve()
    }
  }
})
