import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds } from '../../tools/test/seeds.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'
import { Deletions } from './deletions.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

/** Backups and restores in a row; what the first ones load does not count. */
const rounds = process.env.LATEEN_SOAK === '1' ? 200 : 12
const warmUp = 6

/** Caches and compiled code still grow a little; an archive, a log or a list that is kept in each round would be more. */
const mostGrowthMiB = 8

describe('the memory of a server', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let server: RunningServer
  let deletions: Deletions

  before(async () => {
    scene = await openServerScene(given.cluster, 'flat-memory')
    deletions = new Deletions(scene)
    await createConfigMaps(scene, { count: 100, bytes: 2_000 })
    server = await scene.start()
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    const made = scene && `${scene.data}-restored`
    if (made) await given.cluster.kubectl(['delete', 'namespace', made, '--ignore-not-found', '--wait=false'])
  })

  for (const seed of rotatingSeeds({ name: 'flat-memory', count: 1, soakCount: 1 })) {
    it(`does not grow with backups and restores one after the other (seed ${seed})`, async test => {
      announceSeed(test, seed)
      for (let round = 0; round < warmUp; round++) await oneRound(`warm-${seed}-${round}`)
      const before = await server.memoryInUse()
      for (let round = 0; round < rounds; round++) await oneRound(`round-${seed}-${round}`)
      const grownMiB = ((await server.memoryInUse()) - before) / 2 ** 20
      const [from, by] = [before / 2 ** 20, grownMiB].map(size => size.toFixed(1))
      test.diagnostic(`grew from ${from} MiB by ${by} MiB in ${rounds} rounds`)
      assert.ok(grownMiB < mostGrowthMiB, `it grew from ${from} MiB by ${by} MiB in ${rounds} rounds`)
    })
  }

  async function oneRound(name: string): Promise<void> {
    const includedNamespaces = [scene.data]
    assert.equal((await scene.backups.take(name, { includedNamespaces })).status?.phase, 'Completed')
    const namespaceMapping = { [scene.data]: `${scene.data}-restored` }
    const restored = await scene.restores.run(name, { backupName: name, namespaceMapping })
    assert.equal(restored.status?.phase, 'Completed')
    await deletions.request(name)
    await deletions.done(name)
  }
})
