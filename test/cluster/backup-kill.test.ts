import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { isTerminal } from './backups.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const objects = 300

describe('a server that is killed while it takes backups', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let proxy: MisbehavingProxy | undefined
  /** How long a backup takes here and now, from its creation to its end. */
  let usualMs: number

  before(async () => {
    // Storing takes its time, so that kills find it at all its steps.
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method }) =>
      sleep(method === 'PUT' ? 80 : 0, undefined),
    )
    scene = await openServerScene(given.cluster, 'backup-kill', { s3Url: proxy.endpoint })
    await createConfigMaps(scene, { count: objects, bytes: 2_000 })
    server = await scene.start()
    assert.equal((await scene.backups.take('first', spec())).status?.phase, 'Completed')
    const started = performance.now()
    assert.equal((await scene.backups.take('second', spec())).status?.phase, 'Completed')
    usualMs = performance.now() - started
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
  })

  const hasBegun = (backup: Backup) => backup.status?.phase === 'InProgress' || isTerminal(backup)
  const spec = () => ({ includedNamespaces: [scene.data] })

  for (const seed of rotatingSeeds({ name: 'killed-backup', count: 3, soakCount: 200 })) {
    it(`leaves nothing half done after its restart, and takes the next backup (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      // The second one waits for the first: a kill finds backups that run and backups in the queue.
      const names = [`killed-${seed}`, `queued-${seed}`]
      for (const name of names) await scene.backups.create(name, spec())
      if (random.chance(0.7)) await scene.backups.until(names[0] ?? '', hasBegun)
      await sleep(random.next() * usualMs)
      await server.kill()
      server = await scene.start()
      for (const name of names) await scene.backups.ended(name)
      const next = await scene.backups.take(`next-${seed}`, spec())
      assert.equal(next.status?.phase, 'Completed', JSON.stringify(next.status))
      await checkAll()
      for (const name of [...names, `next-${seed}`]) await checkArchive(name)
      test.diagnostic(`${names[0]} is ${(await scene.backups.get(names[0] ?? '')).status?.phase}`)
    })
  }

  it('has not left anything in its scratch folder', async () => {
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await readdir(scene.scratch), [])
  })

  /** No backup hangs, and what is in the bucket is what the backups say. */
  async function checkAll(): Promise<void> {
    const files = new Map(await scene.bucket.files())
    for (const backup of await scene.backups.list()) {
      const name = backup.metadata.name ?? ''
      const phase = backup.status?.phase
      assert.ok(isTerminal(backup), `${name} is ${phase}`)
      const stored = files.get(name) ?? []
      if (phase === 'Completed') {
        assert.ok(
          stored.includes('velero-backup.json') && stored.includes(`${name}.tar.gz`),
          `${name}: ${stored}`,
        )
      } else assert.deepEqual(stored, [], `${name} is ${phase}`)
      files.delete(name)
    }
    assert.deepEqual([...files.keys()], [], 'files of no backup')
  }

  async function checkArchive(name: string): Promise<void> {
    if ((await scene.backups.get(name)).status?.phase !== 'Completed') return
    assert.equal((await scene.bucket.metadata(name)).status?.phase, 'Completed')
    const paths = await scene.bucket.paths(name)
    assert.equal(
      paths.filter(path => /^resources\/configmaps\/namespaces.*plain-/.test(path)).length,
      objects,
    )
  }
})
