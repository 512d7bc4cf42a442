import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind, PodVolumeBackupKind } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { foreignVolume, putForeignBackup } from './foreign-backups.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })

const often = { backupSyncPeriod: 200 }
/** That are new to a server when it starts. */
const newOnes = 16
const lives = 3

describe('a server that is killed while it looks at a bucket', {
  skip: given.skip,
  concurrency: false,
}, () => {
  let scene: ServerScene

  before(async () => {
    scene = await openServerScene(given.cluster, 'sync-kill')
  })
  after(() => scene?.[Symbol.asyncDispose]())

  for (const seed of rotatingSeeds({ name: 'killed-sync', count: 2, soakCount: 100 })) {
    it(`shows in the end what the bucket has, and nothing else (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const volumesOf = (name: string) =>
        Number(name.split('-')[2]) % 2 === 0 ? [`${name}-a`, `${name}-b`] : []
      const wanted = new Set<string>()
      const put = async (name: string) => {
        const volumes = volumesOf(name).map(volume => foreignVolume(name, volume))
        await putForeignBackup(scene.bucket, { name, volumes })
        wanted.add(name)
      }
      let server: RunningServer | undefined
      for (let life = 0; life < lives; life += 1) {
        for (let number = 0; number < newOnes; number += 1) await put(`k-${seed}-${life * newOnes + number}`)
        const written = afterWrites(random.integer(0, newOnes + newOnes / 2))
        server = await scene.start(often)
        await written
        await server.kill()
        test.diagnostic(`killed with ${await missing(wanted)} of ${wanted.size} to come`)
        const gone = random.pick([...wanted])
        await scene.bucket.delete(`backups/${gone}/`)
        wanted.delete(gone)
      }
      server = await scene.start(often)
      const volumes = [...wanted].flatMap(volumesOf)
      await shown({ backups: wanted, volumes: new Set(volumes) })
      await server.kill()
      await scene.bucket.delete('backups/')
      server = await scene.start(often)
      await shown({ backups: new Set(), volumes: new Set() })
      await server.kill()
    })
  }

  /** Resolves when so many backups have been created, changed or removed from now on. */
  async function afterWrites(count: number): Promise<void> {
    if (count === 0) return
    const resource = scene.client.resource(BackupKind, scene.namespace)
    const listing = resource.list()
    await listing.toArray()
    let seen = 0
    for await (const { type } of resource.watch({ resourceVersion: listing.resourceVersion })) {
      if (type !== 'BOOKMARK') seen += 1
      if (seen >= count) return
    }
  }

  /** Backups that are not in the cluster, or not with all their volumes. */
  async function missing(wanted: ReadonlySet<string>): Promise<number> {
    const whole = (await scene.backups.list()).filter(
      ({ metadata }) => metadata.annotations?.['lateen.dev/synced'] === 'true',
    )
    return wanted.difference(new Set(whole.map(({ metadata }) => metadata.name ?? ''))).size
  }

  async function shown(wanted: {
    backups: ReadonlySet<string>
    volumes: ReadonlySet<string>
  }): Promise<void> {
    let there: typeof wanted | undefined
    const look = async () => {
      const found = await scene.client.resource(PodVolumeBackupKind, scene.namespace).list().toArray()
      const all = await scene.backups.list()
      const isWhole = all.every(({ metadata }) => metadata.annotations?.['lateen.dev/synced'] === 'true')
      there = {
        backups: new Set(all.map(({ metadata }) => metadata.name ?? '')),
        volumes: new Set(found.map(({ metadata }) => metadata.name ?? '')),
      }
      return isWhole && same(there.backups, wanted.backups) && same(there.volumes, wanted.volumes)
        ? there
        : undefined
    }
    await waitUntil(look, {
      timeoutMs: 120_000,
      failure: () =>
        new assert.AssertionError({ actual: there, expected: wanted, operator: 'deepStrictEqual' }),
    })
  }
})

function same(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.symmetricDifference(others).size === 0
}
