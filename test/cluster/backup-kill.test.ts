import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { isTerminal } from './backups.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const objects = 300

describe('a server that is killed while it takes backups', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  /** How long a backup takes here and now. */
  let usualMs: number

  before(async () => {
    scene = await openServerScene(given.cluster, 'backup-kill')
    await createConfigMaps(scene, { count: objects, bytes: 2_000 })
    server = await scene.start()
    const started = performance.now()
    assert.equal((await scene.backups.take('first', spec())).status?.phase, 'Completed')
    usualMs = performance.now() - started
  })
  after(() => scene?.[Symbol.asyncDispose]())

  const spec = () => ({ includedNamespaces: [scene.data] })

  for (const seed of rotatingSeeds({ name: 'killed-backup', count: 3, soakCount: 200 })) {
    it(`leaves nothing half done after its restart, and takes the next backup (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      // The second one waits for the first: a kill finds backups that run and backups in the queue.
      const names = [`killed-${seed}`, `queued-${seed}`]
      for (const name of names) await scene.backups.create(name, spec())
      await sleep(random.next() * usualMs * 2)
      await server.kill()
      server = await scene.start()
      for (const name of names) await scene.backups.ended(name)
      const next = await scene.backups.take(`next-${seed}`, spec())
      assert.equal(next.status?.phase, 'Completed', JSON.stringify(next.status))
      await checkAll()
      test.diagnostic(`${names[0]} is ${(await scene.backups.get(names[0] ?? '')).status?.phase}`)
    })
  }

  it('has not left anything in its scratch folder', async () => {
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await readdir(scene.scratch), [])
  })

  /** No backup hangs, and what is in the bucket is what the backups say. */
  async function checkAll(): Promise<void> {
    const files = await scene.bucket.files()
    const known = await scene.backups.list()
    for (const backup of known) {
      const name = backup.metadata.name ?? ''
      assert.ok(isTerminal(backup), `${name} is ${backup.status?.phase}`)
      const stored = files.get(name) ?? []
      if (backup.status?.phase === 'Completed') await checkStored(name, stored)
      else assert.deepEqual(stored, [], `${name} is ${backup.status?.phase}`)
    }
    assert.deepEqual(
      [...files.keys()].filter(name => !known.some(({ metadata }) => metadata.name === name)),
      [],
    )
  }

  async function checkStored(name: string, files: readonly string[]): Promise<void> {
    assert.ok(files.includes('velero-backup.json'), `${name} has ${files}`)
    assert.equal((await scene.bucket.metadata(name)).status?.phase, 'Completed')
    const paths = await scene.bucket.paths(name)
    assert.equal(
      paths.filter(path => /^resources\/configmaps\/namespaces.*plain-/.test(path)).length,
      objects,
    )
  }
})
