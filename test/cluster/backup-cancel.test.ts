import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind, type BackupPhase, BackupStorageLocationKind, cancelAnnotation } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { createLocation } from './backups.ts'
import { type CopiedItem, createCopied, OperationsFolder } from './operations-folder.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('a backup that is not wanted any more', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let folder: OperationsFolder
  let server: RunningServer
  const places: string[] = []

  before(async () => {
    folder = await OperationsFolder.create()
    scene = await openServerScene(given.cluster, 'backup-cancel')
    server = await start()
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
    if (places.length > 0) await given.cluster.kubectl(['delete', 'namespace', ...places, '--wait=false'])
  })

  const start = () => scene.start({ pluginFolder: folder.plugins, itemOperationSyncFrequency: 300 })

  async function begin(name: string, items: readonly CopiedItem[], spec: object = {}): Promise<void> {
    const namespace = await createCopied(scene, name, items)
    places.push(namespace)
    await scene.backups.create(name, { includedNamespaces: [namespace], ...spec })
  }

  /** Waits for an event that says why a backup does not go on. */
  async function said(name: string, what: RegExp): Promise<void> {
    const query = `involvedObject.name=${name},reason=BackupOperationsUnknown`
    const events = () =>
      scene.cluster.kubectl([
        ...['-n', scene.namespace, 'get', 'events', `--field-selector=${query}`],
        ...['-o', 'jsonpath={.items[*].message}'],
      ])
    const isSaid = async () => what.test(await events()) || undefined
    const failure = () => new Error(`nobody says ${what} of ${name}`)
    await waitUntil(isSaid, { timeoutMs: 120_000, everyMs: 200, failure })
  }

  /** Begins a backup that is in progress, with one operation begun, until it is let go. */
  async function beginHeld(name: string): Promise<void> {
    await begin(name, [{ name: 'begun' }, { name: 'held', behaviour: 'hold' }])
    await folder.held(name, 'held')
    await folder.untilBegun(name, 1)
    const isNoted = async () => (await files(name)).some(file => /^\d+\.json$/.test(file)) || undefined
    const failure = () => new Error(`there is no journal of ${name}`)
    await waitUntil(isNoted, { timeoutMs: 120_000, everyMs: 50, failure })
  }

  const until = (name: string, ...phases: BackupPhase[]) =>
    scene.backups.until(name, ({ status }) => phases.includes(status?.phase ?? 'New'))
  const cancel = (name: string) =>
    scene.client.resource(BackupKind, scene.namespace).patch(name, {
      type: 'merge',
      body: { metadata: { annotations: { [cancelAnnotation]: 'true' } } },
    })
  const files = async (name: string) => (await scene.bucket.files()).get(name) ?? []

  it('has failed when it is cancelled while it waits for its turn', async () => {
    await beginHeld('running')
    await begin('queued', [{ name: 'queued' }])
    await until('queued', 'Queued')
    await cancel('queued')
    const { status } = await scene.backups.ended('queued')
    assert.deepEqual([status?.phase, status?.failureReason], ['Failed', 'cancelled by request'])
    assert.deepEqual(await files('queued'), [])
    assert.deepEqual(await folder.begun('queued'), [])
  })

  it('has failed when it is cancelled in progress, with its operations stopped and nothing in the bucket', async () => {
    await cancel('running')
    const { status } = await scene.backups.ended('running')
    assert.deepEqual([status?.phase, status?.failureReason], ['Failed', 'cancelled by request'])
    assert.equal((await folder.untilCancelled('running')).length, 1)
    assert.deepEqual(await files('running'), [])
  })

  it('ends partly failed when it is cancelled while it waits for operations, which are stopped', async () => {
    await begin('waiting', [
      { name: 'done', behaviour: 'complete' },
      { name: 'stubborn', behaviour: 'cancel-error' },
    ])
    await until('waiting', 'WaitingForPluginOperations')
    await cancel('waiting')
    const { status } = await scene.backups.ended('waiting')
    const counts = [status?.backupItemOperationsCompleted, status?.backupItemOperationsFailed, status?.errors]
    assert.deepEqual([status?.phase, ...counts], ['PartiallyFailed', 1, 1, 1])
    assert.deepEqual(await folder.cancelled('waiting'), [(await folder.of('waiting', 'stubborn')).id])
    const stored = (await scene.bucket.readJson('waiting', '-itemoperations.json.gz')) as {
      status: { phase: string; error?: string }
    }[]
    const failed = stored.find(operation => operation.status.phase === 'Failed')
    assert.equal(failed?.status.error, 'cancelled by request')
    assert.equal((await scene.bucket.metadata('waiting')).status?.phase, 'PartiallyFailed')
    assert.ok((await folder.finalized()).includes('done'), 'what has completed is stored again')
  })

  it('ends partly failed when it is cancelled while it is finalized, which breaks off', async () => {
    await begin('finalizing', [{ name: 'held', behaviour: 'hold-finalizing' }])
    await folder.held('finalizing', 'held')
    await cancel('finalizing')
    const { status } = await scene.backups.ended('finalizing')
    assert.deepEqual([status?.phase, status?.errors], ['PartiallyFailed', 1])
    assert.ok((await scene.bucket.paths('finalizing')).some(path => path.endsWith('/held.json')))
    const { errors } = (await scene.bucket.readJson('finalizing', '-results.gz')) as { errors: object }
    assert.match(JSON.stringify(errors), /cancelled by request/)
    assert.deepEqual(await folder.cancelled('finalizing'), [])
  })

  it('waits for a location that may not be written to, and can be cancelled when it is gone', async () => {
    const name = 'other'
    const locations = scene.client.resource(BackupStorageLocationKind, scene.namespace)
    await createLocation(scene, { name, prefix: `${scene.namespace}-other` })
    await scene.locations.available(name)
    const setMode = (accessMode: 'ReadOnly' | 'ReadWrite') =>
      locations.patch(name, { type: 'merge', body: { spec: { accessMode } } })

    await begin('read-only', [{ name: 'x' }], { storageLocation: name })
    await begin('nowhere', [{ name: 'x' }, { name: 'y' }], { storageLocation: name })
    for (const backup of ['read-only', 'nowhere']) await until(backup, 'WaitingForPluginOperations')
    // Once this is counted, the server knows the operations without the bucket.
    await folder.set(await folder.of('nowhere', 'y'), { completed: true })
    await scene.backups.until('nowhere', now => now.status?.backupItemOperationsCompleted === 1)
    await setMode('ReadOnly')
    await said('read-only', /the storage location is read-only/)
    await folder.completeAll('read-only')
    assert.equal((await scene.backups.get('read-only')).status?.phase, 'WaitingForPluginOperations')
    await setMode('ReadWrite')
    assert.equal((await scene.backups.ended('read-only')).status?.phase, 'Completed')

    await locations.delete(name)
    await said('nowhere', /the storage location other does not exist/)
    await cancel('nowhere')
    const { status } = await scene.backups.ended('nowhere')
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.failureReason ?? '', /^cancelled by request; .*other does not exist/)
    const { id } = await folder.of('nowhere', 'x')
    assert.deepEqual(new Set(await folder.cancelled('nowhere')), new Set([id]))
  })

  it('stops its operations when it is deleted in progress', async () => {
    await beginHeld('deleted')
    await scene.backups.delete('deleted')
    assert.equal((await folder.untilCancelled('deleted')).length, 1)
  })

  it('has failed when its server is stopped, which stops its operations', async () => {
    await beginHeld('stopped')
    assert.equal(await server.stop(), 0)
    const { status } = await scene.backups.get('stopped')
    assert.deepEqual(
      [status?.phase, status?.failureReason],
      ['Failed', 'the server was stopped during the backup'],
    )
    assert.equal((await folder.untilCancelled('stopped')).length, 1)
    server = await start()
    await scene.backups.until(
      'stopped',
      ({ metadata }) => metadata.annotations?.['lateen.dev/leftovers'] === undefined,
    )
    assert.deepEqual(await files('stopped'), [])
  })

  it('has failed when its server was killed, and the next one stops its operations', async () => {
    await beginHeld('killed')
    await server.kill()
    assert.ok(
      (await files('killed')).some(file => /^\d+\.json$/.test(file)),
      'there is a journal',
    )
    server = await start()
    const { status } = await scene.backups.ended('killed')
    assert.equal(status?.phase, 'Failed')
    assert.equal((await folder.untilCancelled('killed')).length, 1)
    assert.deepEqual(await files('killed'), [])
  })

  it('is finalized by the next server when the one that did it was killed', async () => {
    await begin('resumed', [{ name: 'held', behaviour: 'hold-finalizing' }])
    await folder.held('resumed', 'held')
    await server.kill()
    await folder.letGo('resumed')
    server = await start()
    assert.equal((await scene.backups.ended('resumed')).status?.phase, 'Completed')
    assert.equal((await scene.bucket.metadata('resumed')).status?.phase, 'Completed')
  })
})
