import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Restore, RestorePhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { type OperationsScene, openOperationsScene } from './restore-operations-scene.ts'
import { isEnded } from './restores.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

/** In the order in which restores have them. */
const order: readonly RestorePhase[] = ['InProgress', 'WaitingForPluginOperations', 'Finalizing']

describe('a server that is killed while restores have operations', {
  skip: given.skip,
  concurrency: false,
}, () => {
  let all: OperationsScene
  let server: RunningServer

  before(async () => {
    all = await openOperationsScene(given.cluster, 'restore-ops-kill')
    server = await all.start()
  })
  after(() => all?.[Symbol.asyncDispose]())

  for (const seed of rotatingSeeds({ name: 'killed-restore-operations', count: 3, soakCount: 60 })) {
    it(`leaves none behind that nobody waits for (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const names = ['a', 'b', 'c'].map(name => `${name}-${seed}`)
      for (const name of names) await all.create(name, { begin: true })
      await disturb(names, seededRandom(seed))
      for (const name of names) {
        await finishUntilEnded(name)
        check(await all.scene.restores.get(name), await operationsOf(name))
      }
      assert.deepEqual(await all.journal(), [], 'journals are removed')
      test.diagnostic(await phasesOf(names))
    })
  }

  /** Cancels, ends and kills at random, and leaves a server that runs. */
  async function disturb(names: readonly string[], random: SeededRandom): Promise<void> {
    const [first = '', second = ''] = names
    const moment = random.chance(0.35) ? 'InProgress' : 'WaitingForPluginOperations'
    await all.scene.restores.until(first, hasReached(moment))
    if (random.chance(0.5)) await all.cancel(second)
    if (random.chance(0.5)) await finish(names)
    await killAfter(random.next() * 1_500)
    if (random.chance(0.5)) await killAfter(random.next() * 1_000)
  }

  async function phasesOf(names: readonly string[]): Promise<string> {
    const restores = await Promise.all(names.map(name => all.scene.restores.get(name)))
    return restores.map(({ status }) => status?.phase).join()
  }

  async function killAfter(ms: number): Promise<void> {
    await sleep(ms)
    await server.kill()
    server = await all.start()
  }

  function hasReached(phase: RestorePhase): (restore: Restore) => boolean {
    return restore =>
      isEnded(restore) || order.indexOf(restore.status?.phase ?? 'New') >= order.indexOf(phase)
  }

  async function finish(names: readonly string[]): Promise<void> {
    for (const id of await all.begun()) {
      if (names.some(name => id.startsWith(`${name}.`))) await all.tell(id, { completed: true })
    }
  }

  async function finishUntilEnded(name: string): Promise<void> {
    await all.scene.restores.until(name, hasReached('WaitingForPluginOperations'))
    await finish([name])
    await all.scene.restores.ended(name)
  }

  async function operationsOf(name: string): Promise<Begun[]> {
    const objects = ['get', 'configmaps', '--ignore-not-found', '-n', all.target(name), '-o', 'name']
    const restored = (await given.cluster.kubectl(objects)).split('\n')
    const ids = (await all.begun()).filter(id => id.startsWith(`${name}.`))
    return Promise.all(
      ids.map(async id => ({
        id,
        isCancelled: await all.isCancelled(id),
        isUsed: restored.includes(`configmap/${id.slice(name.length + 1)}`),
      })),
    )
  }

  /** Of a restore that failed nothing goes on; one that is Completed has its operations behind it. */
  function check({ metadata, status }: Restore, operations: readonly Begun[]): void {
    const about = `${metadata.name}: ${JSON.stringify(status)} ${JSON.stringify(operations)}`
    const cancelled = operations.filter(({ isCancelled }) => isCancelled)
    if (status?.phase === 'Completed') {
      assert.equal(status.restoreItemOperationsCompleted, 2, about)
      assert.deepEqual(cancelled, [], about)
    }
    if (status?.phase === 'Failed') {
      assert.equal(cancelled.length, status.restoreItemOperationsFailed ?? 0, about)
      // One that had ended before its server died is not stopped, and counts as what it is.
      const ended = operations.filter(({ isUsed, isCancelled }) => isUsed && !isCancelled)
      assert.equal(ended.length, status.restoreItemOperationsCompleted ?? 0, about)
    }
  }
})

interface Begun {
  id: string
  isCancelled: boolean
  /** The object that it began for was restored. */
  isUsed: boolean
}
