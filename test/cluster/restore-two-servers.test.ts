import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type MisbehavingProxy, startMisbehavingProxy } from './misbehaving-proxy.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const objects = 400

/** Names of the restores that servers say they have begun, as often as they say so. */
function begunBy(...servers: readonly RunningServer[]): string[] {
  return servers.flatMap(({ log }) =>
    log
      .filter(({ msg, phase }) => msg === 'restore moved' && phase === 'InProgress')
      .map(({ restore }) => String(restore)),
  )
}

describe('two servers that take turns', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let proxy: MisbehavingProxy | undefined
  let asleep = Promise.withResolvers<void>()
  const made: string[] = []

  before(async () => {
    // The one that runs does not end before the first server sleeps, which would begin with the one that waits.
    proxy = await startMisbehavingProxy(given.cluster.s3.endpoint, async ({ method, url = '' }) => {
      if (method === 'PUT' && url.includes('/restores/running-')) await asleep.promise
      return undefined
    })
    scene = await openServerScene(given.cluster, 'restore-turns', { s3Url: proxy.endpoint })
    await createConfigMaps(scene, { count: objects, bytes: 2_000 })
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await given.cluster.kubectl([
      'delete',
      'namespace',
      '--wait=false',
      '--ignore-not-found',
      'none',
      ...made,
    ])
  })

  function into(place: string) {
    const target = `${scene.data}-${place}`
    made.push(target)
    const includedNamespaces = [scene.data]
    return { backupName: 'whole', includedNamespaces, namespaceMapping: { [scene.data]: target } }
  }

  for (const seed of rotatingSeeds({ name: 'restoring-turns', count: 1, soakCount: 30 })) {
    it(`never restore the same, though the first one falls asleep and wakes up (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      asleep = Promise.withResolvers()
      const first = await scene.start({ leaderElection: true })
      const backup = await scene.backups.get('whole').catch(() => undefined)
      if (backup === undefined) await scene.backups.take('whole', { includedNamespaces: [scene.data] })
      const taking = scene.start({ leaderElection: true })
      const [running, waiting] = [`running-${seed}`, `waiting-${seed}`]
      await scene.restores.create(running, into(`${seed}`))
      await scene.restores.create(waiting, into(`${seed}`))
      await scene.restores.until(running, ({ status }) => status?.phase !== undefined)
      await sleep(random.next() * 300)
      first.pause()
      asleep.resolve()
      const second = await taking
      const ended = await scene.restores.ended(running)
      assert.equal((await scene.restores.ended(waiting)).status?.phase, 'Completed')
      const after = await scene.restores.run(`after-${seed}`, into(`${seed}`))
      assert.equal(after.status?.phase, 'Completed')
      first.resume()
      assert.notEqual(await first.exited, 0, 'a server that lost its lease ends')
      const begun = begunBy(first, second)
      assert.equal(begun.length, new Set(begun).size, begun.join())
      for (const { metadata, status } of [ended, after]) {
        assert.deepEqual((await scene.restores.get(metadata.name ?? '')).status, status)
      }
      test.diagnostic(`${running} is ${ended.status?.phase}`)
      await second.stop()
    })
  }
})
