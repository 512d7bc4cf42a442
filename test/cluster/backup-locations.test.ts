import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind, DeleteBackupRequestKind, ScheduleKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { BackupBucket } from './backup-bucket.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { createLocation } from './backups.ts'
import { startMisbehavingProxy } from './misbehaving-proxy.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

const often = { backupSyncPeriod: 200, storeValidationFrequency: 300, garbageCollectionFrequency: 300 }

describe('several locations', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let second: BackupBucket

  before(async () => {
    scene = await openServerScene(given.cluster, 'locations')
    second = new BackupBucket(given.cluster, `${scene.namespace}-second`)
    await createConfigMaps(scene, { count: 3, bytes: 10 })
    server = await scene.start(often)
    const place = { cluster: given.cluster, client: scene.client, namespace: scene.namespace }
    await createLocation(place, { name: 'second', prefix: `${scene.namespace}-second` })
    await scene.locations.available('second')
  })
  after(async () => {
    second?.[Symbol.dispose]()
    await scene?.[Symbol.asyncDispose]()
  })

  const spec = () => ({ includedNamespaces: [scene.data] })
  let restored = 0

  async function restoredFrom(backupName: string): Promise<string> {
    restored += 1
    const target = `${scene.data}-${restored}`
    const { status } = await scene.restores.run(`restore-${restored}`, {
      backupName,
      namespaceMapping: { [scene.data]: target },
    })
    if (status?.phase !== 'Completed')
      return `${status?.phase} ${status?.validationErrors ?? status?.failureReason}`
    const names = await given.cluster.kubectl(['get', 'cm', '-n', target, '-o=name'])
    await given.cluster.kubectl(['delete', 'namespace', target, '--wait=false'])
    return names.includes('plain-2') ? 'restored' : names
  }

  it('have backups where they are told to, and in the default one where they are not', async () => {
    await scene.backups.take('in-first', spec())
    await scene.backups.take('in-second', { ...spec(), storageLocation: 'second' })
    assert.deepEqual([...(await scene.bucket.files()).keys()], ['in-first'])
    assert.deepEqual([...(await second.files()).keys()], ['in-second'])
  })

  it('have backups in the new default one once it has changed, and restore from both', async () => {
    await scene.locations.patch('second', { default: true })
    await scene.locations.patch('default', { default: false })
    const taken = await scene.backups.take('in-new-default', spec())
    assert.equal(taken.spec.storageLocation, 'second')
    assert.equal(taken.metadata.labels?.['velero.io/storage-location'], 'second')
    assert.ok((await second.files()).has('in-new-default'))
    assert.equal(await restoredFrom('in-first'), 'restored')
    assert.equal(await restoredFrom('in-new-default'), 'restored')
  })

  it('are restored from while they are read-only, and take no backups then', async () => {
    await scene.locations.patch('second', { accessMode: 'ReadOnly' })
    const { status } = await scene.backups.take('not-there', spec())
    assert.equal(status?.phase, 'FailedValidation')
    assert.match(status?.validationErrors?.join() ?? '', /read-only/)
    assert.equal(await restoredFrom('in-second'), 'restored')
    await scene.locations.patch('second', { accessMode: 'ReadWrite' })
  })

  it('refuse backups and restores while they are unavailable, and have them afterwards', async () => {
    const { objectStorage } = (await scene.locations.get('second')).spec
    await scene.locations.patch('second', { objectStorage: { bucket: 'no-such-bucket' } })
    await scene.locations.unavailable('second')
    const { status } = await scene.backups.take('nowhere', spec())
    assert.match(status?.phase ?? '', /^Failed/)
    assert.notEqual(await restoredFrom('in-second'), 'restored')
    await scene.locations.patch('second', { objectStorage })
    await scene.locations.available('second')
    assert.equal(await restoredFrom('in-second'), 'restored')
  })

  it('that are deleted leave their backups, which say so when they are needed, and come back with the location', async () => {
    const { spec: was } = await scene.locations.get('second')
    await scene.locations.delete('second')
    const answer = await restoredFrom('in-second')
    assert.match(answer, /^FailedValidation .*second/)
    assert.equal((await scene.backups.get('in-second')).status?.phase, 'Completed')
    await scene.locations.create('again', was)
    await scene.locations.available('again')
    await scene.backups.delete('in-second')
    const found = await scene.backups.until('in-second', now => now.spec.storageLocation === 'again')
    assert.equal(found.metadata.labels?.['velero.io/storage-location'], 'again')
    assert.equal(await restoredFrom('in-second'), 'restored')
  })

  it('that are deleted while a backup is written take it to its end once they are back', async () => {
    const { promise: isGone, resolve: goOn } = Promise.withResolvers<undefined>()
    await using proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method, url }) =>
      method === 'PUT' && url?.includes('/slowly.tar.gz') ? isGone : undefined,
    )
    const place = { cluster: given.cluster, client: scene.client, namespace: scene.namespace }
    await createLocation(place, { name: 'slow', prefix: `${scene.namespace}-slow`, s3Url: proxy.endpoint })
    await scene.locations.available('slow')
    await scene.backups.create('slowly', { ...spec(), storageLocation: 'slow' })
    await scene.backups.until('slowly', ({ status }) => status?.phase === 'InProgress')
    const { spec: was } = await scene.locations.get('slow')
    await scene.locations.delete('slow')
    goOn(undefined)
    const waiting = await scene.backups.until('slowly', ({ status }) => status?.phase !== 'InProgress')
    assert.equal(waiting.status?.phase, 'Finalizing')
    await scene.locations.create('slow', was)
    assert.equal((await scene.backups.ended('slowly')).status?.phase, 'Completed')
    await scene.locations.available('slow')
    assert.equal(await restoredFrom('slowly'), 'restored')
    await scene.locations.delete('slow')
  })

  it('only restore in a server that only restores', async () => {
    await server.stop()
    server = await scene.start({ ...often, restoreOnly: true })
    const units = server.log.find(({ msg }) => msg === 'controllers started')?.units
    assert.deepEqual(new Set(units as string[]).intersection(makersOfBackups), new Set())
    const resource = scene.client.resource(BackupKind, scene.namespace)
    await scene.client.resource(ScheduleKind, scene.namespace).create({
      apiVersion: 'velero.io/v1',
      kind: 'Schedule',
      metadata: { name: 'often', namespace: scene.namespace },
      spec: { schedule: '@every 1s', template: {} },
    })
    await scene.backups.create('unwanted', spec())
    await resource.patch('in-first', {
      type: 'merge',
      body: { status: { expiration: '2020-01-01T00:00:00Z' } },
    })
    await resource.delete('in-second')
    await scene.backups.until('in-second', () => true)
    assert.equal(await restoredFrom('in-second'), 'restored')
    assert.equal((await scene.backups.get('unwanted')).status?.phase, undefined)
    const names = (await scene.backups.list()).map(({ metadata }) => metadata.name)
    assert.deepEqual(
      names.filter(name => name?.startsWith('often')),
      [],
    )
    const requests = scene.client.resource(DeleteBackupRequestKind, scene.namespace)
    assert.deepEqual(await requests.list().toArray(), [])
  })
})

const makersOfBackups = new Set([
  'backup-queue',
  'backup',
  'backup-operations',
  'backup-finalizer',
  'backup-deletion',
  'gc',
  'schedule',
])
