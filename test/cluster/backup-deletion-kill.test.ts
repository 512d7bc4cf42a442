import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { makePluginFolder, type PluginFolder } from '../compat/plugin-folder.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { Deletions } from './deletions.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { createCopied, OperationsFolder } from './operations-folder.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

describe('a server that is killed while it deletes backups', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let proxy: MisbehavingProxy
  let deletions: Deletions
  let operations: OperationsFolder
  let programs: PluginFolder
  /** A namespace whose backup waits for an operation. */
  let waits: string
  /** Objects and files that are not to be deleted. */
  let kept: number
  /** How long a deletion takes here and now. */
  let usualMs: number
  const stack = new AsyncDisposableStack()

  before(async () => {
    operations = stack.use(await OperationsFolder.create())
    programs = stack.use(await makePluginFolder())
    // They are started often.
    const env = {
      NODE_COMPILE_CACHE: path.join(programs.notes, 'compiled'),
      DELETION_NOTES: path.join(programs.notes, 'deleted'),
    }
    await programs.launcher('operations', { command: [path.join(operations.plugins, 'operations')], env })
    const command = [process.execPath, path.join(import.meta.dirname, 'deletion-plugin.ts')]
    await programs.launcher('noting', { command, env })
    // Removing takes its time, so that kills find a deletion at all its steps.
    proxy = stack.use(
      await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method }) =>
        sleep(method === 'DELETE' ? 60 : 0, undefined),
      ),
    )
    scene = stack.use(await openServerScene(given.cluster, 'deletion-kill', { s3Url: proxy.endpoint }))
    deletions = new Deletions(scene)
    const metadata = { name: 'noted', namespace: scene.data, labels: { deletion: 'noted' } }
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await scene.cluster.kubectl(['create', '-f', '-'], { stdin })
    waits = await createCopied(scene, 'waits', [{ name: 'slow' }])
    server = await start()
    for (const name of ['kept', 'first']) await scene.backups.take(name, { includedNamespaces: [scene.data] })
    const started = performance.now()
    await deletions.request('first')
    await deletions.done('first')
    usualMs = performance.now() - started
    kept = (await objects()).length + (await scene.bucket.keys()).length
  })
  after(async () => {
    await stack.disposeAsync()
    const made = waits ? [waits, restoredTo()] : []
    if (made.length === 0) return
    await given.cluster.kubectl(['delete', 'namespace', ...made, '--ignore-not-found', '--wait=false'])
  })

  const start = () =>
    scene.start({ pluginFolder: programs.path, itemOperationSyncFrequency: 1_000, concurrentBackups: 3 })
  const restoredTo = () => `${scene.data}-restored`

  for (const seed of rotatingSeeds({ name: 'killed-deletion', count: 3, soakCount: 200 })) {
    it(`leaves nothing behind after its restart (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const restored = `restored-${seed}`
      const waiting = `waiting-${seed}`
      const includedNamespaces = [scene.data]
      await scene.backups.take(restored, { includedNamespaces })
      const namespaceMapping = { [scene.data]: restoredTo() }
      await scene.restores.run(restored, { backupName: restored, includedNamespaces, namespaceMapping })
      await scene.backups.create(waiting, { includedNamespaces: [waits] })
      await scene.backups.until(waiting, ({ status }) => status?.phase === 'WaitingForPluginOperations')

      for (const name of [restored, waiting]) await deletions.request(name)
      // What one server left behind may be left behind by the next one as well.
      const all = await left()
      const kills = random.chance(0.3) ? 2 : 1
      for (let kill = 0; kill < kills; kill++) {
        await someTime(random, all)
        await server.kill()
        test.diagnostic(`${await left()} of ${all} left behind`)
        server = await start()
      }
      for (const name of [restored, waiting]) await deletions.done(name)

      await requireKept()
      assert.ok((await operations.cancelled(waiting)).length > 0, 'the operation was not stopped')
      const told = await readFile(path.join(programs.notes, 'deleted'), 'utf8')
      assert.ok(told.includes(`${restored} Deleting noted`), 'the action was not told')
    })
  }

  it('has not left anything in its scratch folder', async () => {
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await readdir(scene.scratch), [])
  })

  /** What is not to be deleted is there, and nothing else. */
  async function requireKept(): Promise<void> {
    const keys = await scene.bucket.keys()
    assert.deepEqual(
      keys.filter(key => key.split('/')[1] !== 'kept'),
      [],
    )
    assert.ok(keys.includes('backups/kept/velero-backup.json'))
    assert.deepEqual(await objects(), ['backup.velero.io/kept'])
  }

  /** How many objects and files there are that are to be deleted. */
  async function left(): Promise<number> {
    return (await objects()).length + (await scene.bucket.keys()).length - kept
  }

  /** Waits for a while, or until some of all are deleted. */
  async function someTime(random: SeededRandom, all: number): Promise<void> {
    if (random.chance(0.3)) return sleep(random.next() * usualMs * 1.5)
    const count = Math.floor(random.next() * all)
    await waitUntil(async () => (await left()) <= count, {
      timeoutMs: 120_000,
      failure: async () => new Error(`${await left()} are left`),
      everyMs: 5,
    })
  }

  /** Everything in the server's namespace that has to do with backups, as kubectl lists it. */
  async function objects(): Promise<string[]> {
    const kinds = ['backups', 'restores', 'deletebackuprequests', 'podvolumebackups', 'downloadrequests']
    const types = kinds.map(kind => `${kind}.velero.io`).join()
    const names = await scene.cluster.kubectl(['get', types, '-n', scene.namespace, '-o', 'name'])
    return names.split('\n').filter(name => name !== '')
  }
})
