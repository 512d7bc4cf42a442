import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Restore } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { isEnded } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const objects = 300

describe('a server that is killed while it restores', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let proxy: MisbehavingProxy | undefined
  /** How long a restore takes here and now, from its creation to its end. */
  let usualMs: number
  const made: string[] = []

  before(async () => {
    // Storing takes its time, so that kills find a restore at all its steps.
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, ({ method }) =>
      sleep(method === 'PUT' ? 80 : 0, undefined),
    )
    scene = await openServerScene(given.cluster, 'restore-kill', { s3Url: proxy.endpoint })
    await createConfigMaps(scene, { count: objects, bytes: 2_000 })
    server = await scene.start()
    const taken = await scene.backups.take('whole', { includedNamespaces: [scene.data] })
    assert.equal(taken.status?.phase, 'Completed')
    assert.equal((await scene.restores.run('first', into('first'))).status?.phase, 'Completed')
    const started = performance.now()
    assert.equal((await scene.restores.run('second', into('second'))).status?.phase, 'Completed')
    usualMs = performance.now() - started
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    if (made.length === 0) return
    await given.cluster.kubectl(['delete', 'namespace', '--wait=false', '--ignore-not-found', ...made])
  })

  function into(place: string) {
    const target = `${scene.data}-${place}`
    if (!made.includes(target)) made.push(target)
    const includedNamespaces = [scene.data]
    return { backupName: 'whole', includedNamespaces, namespaceMapping: { [scene.data]: target } }
  }

  const hasBegun = (restore: Restore) => restore.status?.phase === 'InProgress' || isEnded(restore)

  for (const seed of rotatingSeeds({ name: 'killed-restore', count: 3, soakCount: 200 })) {
    it(`leaves no restore behind after its restart, and the next one brings back everything (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      // The second one waits for the first, because both want the same namespace; the third one does not.
      const places = {
        [`killed-${seed}`]: `${seed}`,
        [`waits-${seed}`]: `${seed}`,
        [`beside-${seed}`]: `b-${seed}`,
      }
      for (const [name, place] of Object.entries(places)) await scene.restores.create(name, into(place))
      if (random.chance(0.7)) await scene.restores.until(`killed-${seed}`, hasBegun)
      await sleep(random.next() * usualMs * 3)
      await server.kill()
      server = await scene.start()
      for (const name of Object.keys(places)) await scene.restores.ended(name)
      const next = await scene.restores.run(`next-${seed}`, into(`${seed}`))
      assert.equal(next.status?.phase, 'Completed', JSON.stringify(next.status))
      await checkAll()
      await checkObjects(`${seed}`)
      const { status } = await scene.restores.get(`beside-${seed}`)
      if (status?.phase === 'Completed') await checkObjects(`b-${seed}`)
      const used = made.splice(0)
      await given.cluster.kubectl(['delete', 'namespace', '--wait=false', '--ignore-not-found', ...used])
      test.diagnostic(`killed-${seed} is ${(await scene.restores.get(`killed-${seed}`)).status?.phase}`)
    })
  }

  it('has not left anything in its scratch folder', async () => {
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await readdir(scene.scratch), [])
  })

  /** No restore hangs, one that failed says why, and one that went well has its files. */
  async function checkAll(): Promise<void> {
    const keys = await scene.bucket.keys()
    for (const restore of await scene.restores.list()) {
      const { name } = restore.metadata
      const { phase, failureReason = '', completionTimestamp } = restore.status ?? {}
      assert.ok(isEnded(restore), `${name} is ${phase}`)
      assert.ok(completionTimestamp, `${name} is ${phase} and has no end`)
      if (phase === 'Failed') assert.match(failureReason, /"InProgress" during the server starting/)
      else assert.equal(phase, 'Completed', `${name}: ${JSON.stringify(restore.status)}`)
      const files = keys.filter(key => key.startsWith(`restores/${name}/`))
      if (phase === 'Completed') assert.equal(files.length, 5, `${name}: ${files}`)
    }
  }

  async function checkObjects(place: string): Promise<void> {
    const { [scene.data]: target = '' } = into(place).namespaceMapping
    const args = ['get', 'configmaps', '-n', target, '-o', 'jsonpath={range .items[*]}{.metadata.name} {end}']
    const names = (await given.cluster.kubectl(args)).split(' ').filter(name => name.startsWith('plain-'))
    assert.equal(names.length, objects, target)
  }
})
