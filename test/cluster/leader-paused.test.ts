import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { allKinds } from '@lateen/api'
import { keyOf } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createConfigMaps } from './backup-server-scene.ts'
import { ConfigMapKind } from './core-kinds.ts'
import { Deletions } from './deletions.ts'
import { type Candidate, describeWrites, type LeaderScene, openLeaderScene, placeOf } from './leader-scene.ts'

const given = await givenCluster({ s3: true })
const objects = 60

describe('a leader that is stopped for longer than its lease lasts', { skip: given.skip }, () => {
  let servers: LeaderScene
  const made: string[] = []

  before(async () => {
    servers = await openLeaderScene(given.cluster, 'leader-paused')
    await createConfigMaps(servers.scene, { count: objects, bytes: 500 })
  })
  after(async () => {
    await servers?.[Symbol.asyncDispose]()
    const gone = ['delete', 'namespace', '--wait=false', '--ignore-not-found', 'none', ...made]
    await given.cluster.kubectl(gone)
  })

  for (const seed of rotatingSeeds({ name: 'paused-leader', count: 1, soakCount: 60 })) {
    it(`begins no change once it goes on (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const { scene } = servers
      await using first = await servers.lead(`first-${seed}`)
      const idle = await placesWhileIdle(first)
      await using second = await servers.standBy(`second-${seed}`)
      const work = await giveWork(seed)
      await sleep(random.next() * 4_000)
      first.pause()
      const stoppedAt = await placeOf(first)
      const phases = (await scene.backups.list()).map(({ status }) => status?.phase)
      await second.said('controllers started')
      await work.ended()
      const before = await everything(servers, work.namespaces)

      const resumed = performance.now()
      first.resume()
      assert.notEqual(await first.exited, 0, 'a server that lost its lease ends')
      const late = first.writesSince(resumed)
      // Stopped in the middle of its code, it may have had one request in its hands that had passed the fence.
      const inHand = stoppedAt !== undefined && idle.has(stoppedAt) ? 0 : 1
      assert.ok(late.length <= inHand, `sent after its lease was gone:\n${describeWrites(late)}`)
      assert.deepEqual(await everything(servers, work.namespaces), before)
      test.diagnostic(`stopped ${inHand === 0 ? 'at rest' : 'at work'}, backups were ${phases.join(', ')}`)
      test.diagnostic(`${late.length} changes came late`)
      assert.ok(first.writesSince(0).length > 0, 'the first server did something')
      await second.stop()
    })
  }

  /** Backups that run and wait, a restore and deletions, so that there is always something to write. */
  async function giveWork(seed: number) {
    const { scene } = servers
    const names = Array.from({ length: 4 }, (_, index) => `b${index}-${seed}`)
    const [doomed = '', first = ''] = names
    for (const name of names) await scene.backups.create(name, { includedNamespaces: [scene.data] })
    // A deletion is refused while its backup runs.
    for (const name of [doomed, first]) {
      await scene.backups.until(name, ({ status }) => status?.phase === 'Completed')
    }
    const target = `${scene.data}-${seed}`
    made.push(target)
    const restore = `r-${seed}`
    await scene.restores.create(restore, {
      backupName: first,
      includedNamespaces: [scene.data],
      namespaceMapping: { [scene.data]: target },
    })
    const deletions = new Deletions(scene)
    await deletions.request(doomed)
    return {
      namespaces: [scene.namespace, target],
      async ended() {
        for (const name of names) if (name !== doomed) await scene.backups.ended(name)
        await scene.restores.ended(restore)
        await deletions.done(doomed)
        await atRest(servers, [scene.namespace, target])
      },
    }
  }
})

/** Where the process is found when it has nothing to do. */
async function placesWhileIdle(server: Candidate): Promise<ReadonlySet<string>> {
  const found: string[] = []
  await sleep(500)
  for (let count = 0; count < 15; count++) {
    server.pause()
    await sleep(5)
    found.push((await placeOf(server)) ?? '')
    server.resume()
    await sleep(20)
  }
  // It waits for events in one place only; the others are where it was caught working.
  const waiting = Map.groupBy(found, place => place)
  const [[most, times] = ['', []]] = [...waiting].sort(([, a], [, b]) => b.length - a.length)
  return new Set(times.length > 5 && most !== '' ? [most] : [])
}

/** Every file in the bucket with its digest, and every object of the namespaces with its version. */
async function everything({ scene }: LeaderScene, namespaces: readonly string[]) {
  const versions: string[] = []
  for (const namespace of namespaces) {
    for (const kind of [...allKinds, ConfigMapKind]) {
      for (const object of await scene.client.resource(kind, namespace).list().toArray()) {
        versions.push(
          `${kind.kind} ${keyOf(object)} ${object.metadata.uid} ${object.metadata.resourceVersion}`,
        )
      }
    }
  }
  return { files: await scene.bucket.contents(), versions: new Set(versions) }
}

/** Waits until nothing changes for a moment: the last events, reports and looks at the bucket are written. */
async function atRest(servers: LeaderScene, namespaces: readonly string[]): Promise<void> {
  let last: unknown
  await waitUntil(
    async () => {
      const now = await everything(servers, namespaces)
      const same = isDeepStrictEqual(now, last)
      last = now
      return same
    },
    { timeoutMs: 120_000, failure: () => new Error('it does not come to rest'), everyMs: 700 },
  )
}
