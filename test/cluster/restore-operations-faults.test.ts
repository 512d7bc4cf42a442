import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BackupKind, type RestorePhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { type OperationsScene, openOperationsScene } from './restore-operations-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const leftovers = 'lateen.dev/leftovers'

describe('operations of restores from a bad bucket', { skip: given.skip, concurrency: false }, () => {
  let all: OperationsScene
  let server: RunningServer
  let proxy: MisbehavingProxy | undefined
  /** What the bucket does not allow now. */
  let denied: { method?: string; parts: readonly string[] } | undefined

  before(async () => {
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method, url = '' }) => {
      if (denied === undefined || (denied.method ?? method) !== method) return undefined
      return denied.parts.some(part => decodeURIComponent(url).includes(part)) ? 'denied' : undefined
    })
    all = await openOperationsScene(given.cluster, 'restore-ops-bad', { s3Url: proxy.endpoint })
    server = await all.start()
  })
  after(async () => {
    await all?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
  })

  const inPhase = (name: string, phase: RestorePhase) =>
    all.scene.restores.until(name, ({ status }) => status?.phase === phase)
  const ended = (name: string) => all.scene.restores.ended(name)
  const complete = async (name: string) => {
    for (const item of ['one', 'two']) await all.tell(`${name}.${item}`, { completed: true })
  }

  async function eventsOf(name: string): Promise<string[]> {
    const field = `--field-selector=involvedObject.name=${name}`
    const args = ['get', 'events', '-n', all.scene.namespace, field, '-o', 'jsonpath={.items[*].reason}']
    return (await given.cluster.kubectl(args)).split(' ')
  }

  it('go on without a journal, which is a warning', async () => {
    denied = { method: 'PUT', parts: ['lateen-operations'] }
    await all.create('no-journal', { begin: true })
    await inPhase('no-journal', 'WaitingForPluginOperations')
    await complete('no-journal')
    const { status } = await ended('no-journal')
    assert.deepEqual([status?.phase, status?.warnings], ['Completed', 1])
    const { warnings } = await all.scene.bucket.restoreResults('no-journal')
    assert.match(warnings.velero?.[0] ?? '', /operation no-journal\.\w+ could not be noted in the bucket/)
  })

  it('go on in memory when the bucket can only be read', async () => {
    denied = { method: 'PUT', parts: ['lateen-operations', '/restores/'] }
    await all.create('read-only', { begin: true })
    await inPhase('read-only', 'WaitingForPluginOperations')
    await all.tell('read-only.one', { completed: true })
    await all.scene.restores.until('read-only', ({ status }) => status?.restoreItemOperationsCompleted === 1)
    await complete('read-only')
    assert.equal((await ended('read-only')).status?.phase, 'Completed')
  })

  it('that the next server does not know are looked for, and never taken for done', async () => {
    denied = undefined
    await all.create('emptied', { begin: true })
    await inPhase('emptied', 'WaitingForPluginOperations')
    denied = { method: 'PUT', parts: ['lateen-operations', '/restores/'] }
    await all.create('unknown', { begin: true })
    await inPhase('unknown', 'WaitingForPluginOperations')
    await server.kill()
    denied = undefined
    for (const name of ['emptied', 'unknown']) await complete(name)
    const file = 'restores/emptied/restore-emptied-itemoperations.json.gz'
    await all.scene.bucket.write(file, gzipSync('[]'))
    server = await all.start()
    for (const name of ['unknown', 'emptied']) {
      await waitUntil(
        async () => ((await eventsOf(name)).includes('RestoreOperationsUnknown') ? true : undefined),
        { timeoutMs: 60_000, failure: () => new Error(`nobody tells of the operations of ${name}`) },
      )
      assert.match((await all.scene.restores.get(name)).status?.phase ?? '', /^Waiting/)
      await all.cancel(name)
      const { status } = await ended(name)
      assert.deepEqual([status?.phase, status?.errors], ['PartiallyFailed', 2])
    }
  })

  it('are taken from the journal when their file could not be stored', async () => {
    denied = { method: 'PUT', parts: ['-itemoperations.json.gz'] }
    await all.create('journal', { begin: true })
    await inPhase('journal', 'WaitingForPluginOperations')
    assert.notEqual((await all.journal()).length, 0)
    await server.kill()
    denied = undefined
    server = await all.start()
    await complete('journal')
    const { status } = await ended('journal')
    assert.deepEqual([status?.phase, status?.restoreItemOperationsCompleted], ['Completed', 2])
    assert.deepEqual(await all.journal(), [])
  })

  it('of an interrupted restore are stopped once their journal can be read', async () => {
    await all.create('later', { begin: true, hold: 'two' })
    await all.held('later', 'two')
    await waitUntil(async () => ((await all.journal()).length > 0 ? true : undefined), {
      timeoutMs: 30_000,
      failure: () => new Error('there is no journal'),
    })
    await server.kill()
    denied = { parts: ['lateen-operations'] }
    server = await all.start()
    const { metadata } = await ended('later')
    assert.equal(metadata.annotations?.[leftovers], 'true')
    assert.equal(await all.isCancelled('later.one'), false)
    denied = undefined
    await all.scene.restores.until(
      'later',
      restore => restore.metadata.annotations?.[leftovers] === undefined,
    )
    assert.equal(await all.isCancelled('later.one'), true)
    assert.deepEqual(await all.journal(), [])
    await all.release('later', 'two')
  })

  it('are stopped when the backup has gone', async () => {
    await all.create('gone', { begin: true })
    await inPhase('gone', 'WaitingForPluginOperations')
    await all.scene.client.resource(BackupKind, all.scene.namespace).delete('whole')
    const { status } = await ended('gone')
    assert.deepEqual([status?.phase, status?.restoreItemOperationsFailed], ['PartiallyFailed', 2])
    assert.equal(await all.isCancelled('gone.one'), true)
  })
})
