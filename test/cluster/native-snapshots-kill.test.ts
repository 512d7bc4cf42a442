import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NativeSnapshot } from '../../packages/server/src/volumes/volume-backup.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { createFolderVolumes, createPluginProgram, hasSettled, snapshotLocation } from './snapshot-scene.ts'
import type { RunningServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const plugin = path.join(import.meta.dirname, 'snapshot-plugin.ts')
const volumes = 5

describe('a server that is killed while it takes snapshots or waits for them', {
  skip: given.skip,
  concurrency: false,
}, () => {
  let scene: ServerScene
  let server: RunningServer
  let folder = ''
  /** How long a backup takes here and now, from its creation to its end. */
  let usualMs = 0
  const spec = () => ({ includedNamespaces: [scene.data] })
  const start = async () => {
    server = await scene.start({
      pluginFolder: path.join(folder, 'plugins'),
      itemOperationSyncFrequency: 300,
    })
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-killed-snapshots-'))
    scene = await openServerScene(given.cluster, 'snapshots-kill')
    await createPluginProgram(path.join(folder, 'plugins'), plugin)
    const config = { path: folder, owns: 'recording' }
    const location = snapshotLocation('recording', scene.namespace, {
      provider: 'example.com/recording',
      config,
    })
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(location) })
    await createFolderVolumes(
      { cluster: given.cluster, folder, namespace: scene.data },
      Array.from({ length: volumes }, (_, index) => ({ name: `later-${index}`, storage: 'recording' })),
    )
    await start()
    const began = performance.now()
    assert.equal((await scene.backups.take('usual', spec())).status?.phase, 'Completed')
    usualMs = performance.now() - began
  })

  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'pv', '-l', `example.com/of=${scene.data}`, '--wait=false'])
    await rm(folder, { recursive: true, force: true })
  })

  const snapshotsLeft = async (backup: string) =>
    (await readdir(path.join(folder, 'snapshots'))).filter(name => name.startsWith(`${backup}-later-`))

  /** Ids of snapshots that are noted in the bucket while the backup is in progress. */
  async function journalled(backup: string): Promise<string[]> {
    const keys = (await scene.bucket.keys()).filter(key =>
      key.startsWith(`backups/${backup}/lateen-operations/`),
    )
    const parts = await Promise.all(keys.map(key => scene.bucket.read(key)))
    const operations = parts.flatMap(
      part => JSON.parse(part.toString()) as { spec: { operationID: string } }[],
    )
    return operations.map(operation => operation.spec.operationID)
  }

  for (const seed of rotatingSeeds({ name: 'killed-snapshots', count: 2, soakCount: 60 })) {
    it(`leaves no snapshot behind that its backup does not list (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const name = `killed-${seed}`
      await scene.backups.create(name, spec())
      await sleep(random.next() * usualMs)
      await server.kill()
      const noted = await journalled(name)
      await start()
      const { status } = await scene.backups.until(name, hasSettled)
      test.diagnostic(`${name} is ${status?.phase} ${status?.failureReason ?? ''}`)
      const left = await snapshotsLeft(name)
      if (status?.phase === 'Completed') {
        const listed = (await scene.bucket.readJson(name, '-volumesnapshots.json.gz')) as NativeSnapshot[]
        const ids = listed.map(({ status: { providerSnapshotID = '' } }) => providerSnapshotID)
        assert.deepEqual(new Set(left), new Set(ids))
        assert.equal(ids.length, volumes)
        assert.ok(listed.every(each => each.status.phase === 'Completed'))
      } else {
        assert.equal(status?.phase, 'Failed', JSON.stringify(status))
        // The kill may come between the end of snapshots and the note of their ids.
        const forgotten = left.filter(id => noted.includes(id))
        assert.deepEqual(forgotten, [], JSON.stringify(status))
        assert.equal((await scene.bucket.files()).get(name), undefined)
      }
    })
  }
})
