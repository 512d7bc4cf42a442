import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Backup, BackupPhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { isTerminal } from './backups.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { createCopied, OperationsFolder } from './operations-folder.ts'
import { wishes } from './operations-records.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const items = Array.from({ length: 12 }, (_, number) => `item-${number}`)

/** Kills come at some moment after one of these, by the remainder of the seed. */
const moments: readonly (readonly BackupPhase[])[] = [
  ['InProgress'],
  ['WaitingForPluginOperations'],
  ['Finalizing'],
]

interface StoredOperation {
  spec: { operationID: string }
  status: { phase: string }
}

describe('a server that is killed while backups have operations', {
  skip: given.skip,
  concurrency: false,
}, () => {
  let scene: ServerScene
  let folder: OperationsFolder
  let server: RunningServer
  let proxy: MisbehavingProxy
  let namespace: string
  let usualMs: number

  before(async () => {
    // Storing takes its time, so that kills find it at all its steps.
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method }) =>
      sleep(method === 'PUT' ? 60 : 0, undefined),
    )
    folder = await OperationsFolder.create()
    scene = await openServerScene(given.cluster, 'operations-kill', { s3Url: proxy.endpoint })
    namespace = await createCopied(
      scene,
      'kill',
      items.map(name => ({ name, behaviour: 'brief' })),
    )
    server = await start()
    const started = performance.now()
    const first = await scene.backups.take('first', spec())
    usualMs = performance.now() - started
    await check(first, { journalled: [] })
    assert.equal(first.status?.phase, 'Completed')
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })

  const start = () => scene.start({ pluginFolder: folder.plugins, itemOperationSyncFrequency: 200 })
  const spec = () => ({ includedNamespaces: [namespace] })

  const seeds = rotatingSeeds({ name: 'killed-operations', count: 3, soakCount: 200, consecutive: true })
  for (const seed of seeds) {
    it(`leaves no operation behind and no backup half done (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const name = `killed-${seed}`
      const [phase] = moments[seed % moments.length] ?? []
      await scene.backups.create(name, spec())
      await scene.backups.until(name, backup => hasReached(backup, phase ?? 'InProgress'))
      // Mostly soon: phases in which much happens are short.
      await sleep(random.next() * random.next() * (usualMs / 2))
      await server.kill()
      const journalled = await begunIn(name)
      const at = (await scene.backups.get(name)).status?.phase
      server = await start()
      const ended = await scene.backups.ended(name)
      test.diagnostic(`killed at ${at} with ${journalled.length} operations begun: ${ended.status?.phase}`)
      await check(ended, { journalled })
      const next = await scene.backups.take(`next-${seed}`, spec())
      assert.equal(next.status?.phase, 'Completed', JSON.stringify(next.status))
      await check(next, { journalled: [] })
    })
  }

  /** Operations in the bucket that have not ended for all that is known there. */
  async function begunIn(name: string): Promise<string[]> {
    const keys = (await scene.bucket.keys()).filter(key => key.startsWith(`backups/${name}/`))
    const known = new Map<string, string>()
    for (const key of keys.filter(each => /lateen-operations|-itemoperations/.test(each)).reverse()) {
      for (const { spec: found, status } of await operationsIn(key)) {
        if (!known.has(found.operationID) || key.endsWith('.gz')) known.set(found.operationID, status.phase)
      }
    }
    return [...known].flatMap(([id, phase]) => (phase === 'Completed' || phase === 'Failed' ? [] : [id]))
  }

  /** None where the file has gone meanwhile: what the server had sent when it was killed is still carried out. */
  async function operationsIn(key: string): Promise<StoredOperation[]> {
    try {
      const bytes = await scene.bucket.read(key)
      return JSON.parse((key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString())
    } catch (error) {
      if ((await scene.bucket.keys()).includes(key)) throw error
      return []
    }
  }

  async function check(backup: Backup, { journalled }: { journalled: readonly string[] }): Promise<void> {
    const name = backup.metadata.name ?? ''
    const files = (await scene.bucket.files()).get(name) ?? []
    if (backup.status?.phase === 'Failed') {
      const cancelled = new Set(await folder.cancelled(name))
      assert.deepEqual(
        journalled.filter(id => !cancelled.has(id)),
        [],
        'operations of a failed backup that go on',
      )
      assert.deepEqual(files, [])
      return
    }
    assert.equal(backup.status?.phase, 'Completed', JSON.stringify(backup.status))
    assert.equal((await scene.bucket.metadata(name)).status?.phase, 'Completed')
    assert.ok(!files.some(file => /^\d+\.json$/.test(file)), `the journal is still there: ${files}`)
    const operations = (await scene.bucket.readJson(name, '-itemoperations.json.gz')) as StoredOperation[]
    assert.deepEqual(
      operations.map(({ status }) => status.phase),
      items.map(() => 'Completed'),
    )
    assert.deepEqual(await folder.cancelled(name), [])
    const archive = await scene.bucket.unpack(name)
    for (const item of items) {
      const again = archive.get(`resources/configmaps/namespaces/${namespace}/${item}.json`)
      assert.equal(again?.metadata.annotations?.[wishes.finalized], 'Finalizing', item)
    }
  }
})

const order: readonly (BackupPhase | undefined)[] = ['InProgress', 'WaitingForPluginOperations', 'Finalizing']

function hasReached(backup: Backup, phase: BackupPhase): boolean {
  return isTerminal(backup) || order.indexOf(backup.status?.phase) >= order.indexOf(phase)
}
