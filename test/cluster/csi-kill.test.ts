import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import {
  apiVersionOf,
  type Backup,
  BackupKind,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
} from '@lateen/api'
import { isNotFound } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { type CsiPod, createCsiPod, csiPod, csiScene } from './csi-scene.ts'
import { killScene } from './kill-scene.ts'

const given = await givenCluster({ node: true, s3: true, csi: true })
const namespace = 'csi-kill'
const shop = 'csi-kill-shop'

/** Whether the content of snapshots stays where it is, or goes to the repository. */
const ways = ['kept', 'moved'] as const
type Way = (typeof ways)[number]

interface Contents {
  tree: string
  disk: string
}

async function contentsOf(pod: CsiPod): Promise<Contents> {
  return { tree: await pod.tree('/data'), disk: await pod.checksum('disk') }
}

describe('programs that are killed while volumes are snapshot', {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const scene = await csiScene(given, { namespace })
  const killing = killScene({ given, namespace, client: () => scene.client })
  let pod: CsiPod
  /** The last backup of each way that is whole, how long it took from its creation to its end, and what was in the volumes. */
  const latest: Record<Way, { name: string; tookMs: number; contents: Contents }> = {
    kept: { name: '', tookMs: 0, contents: { tree: '', disk: '' } },
    moved: { name: '', tookMs: 0, contents: { tree: '', disk: '' } },
  }

  before(async () => {
    pod = await createCsiPod(given.cluster, {
      namespace: shop,
      claims: { data: {}, disk: { mode: 'Block' } },
    })
    await pod.run('cd /data; mkdir a; i=0; while [ $i -lt 100 ]; do echo $i > a/$i; i=$((i+1)); done')
    for (const way of ways) await wholeBackup('first', way)
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', shop, '--wait=false', '--ignore-not-found']))

  /** Makes every volume different from what was backed up before. */
  const change = () =>
    pod.run(
      'dd if=/dev/urandom of=/data/changing bs=1M count=3 2>/dev/null; dd if=/dev/urandom of=/dev/disk bs=1M count=3 2>/dev/null; sync',
    )

  const create = (name: string, way: Way) =>
    killing.createBackup(name, {
      includedNamespaces: [shop],
      storageLocation: 'default',
      snapshotMoveData: way === 'moved',
    })

  /** Takes a backup that nobody disturbs. The one before it is deleted by and by. */
  async function wholeBackup(suffix: string | number, way: Way): Promise<void> {
    await killing.recovered()
    await change()
    const name = `${way}-${suffix}`
    const contents = await contentsOf(pod)
    const started = performance.now()
    await create(name, way)
    assert.equal(await killing.ended('backup', name), 'Completed', name)
    const before = latest[way].name
    latest[way] = { name, tookMs: performance.now() - started, contents }
    if (before) await requestDeletion(before)
  }

  /** Restores a backup into a namespace of its own, which is returned. */
  async function restore(name: string, backupName: string): Promise<string> {
    const target = `${shop}-${name}`
    await killing.createRestore(name, { backupName, namespaceMapping: { [shop]: target } })
    return target
  }

  const discard = (target: string) =>
    given.cluster.kubectl(['delete', 'namespace', target, '--wait=false', '--ignore-not-found'])

  async function restoresEverything(name: string, way: Way): Promise<void> {
    const { name: backupName, contents } = latest[way]
    await killing.recovered()
    const target = await restore(name, backupName)
    assert.equal(await killing.ended('restore', name), 'Completed')
    const copy = csiPod(given.cluster, { namespace: target })
    await copy.ready()
    assert.deepEqual(await contentsOf(copy), contents)
    await discard(target)
  }

  const requests = () => scene.client.resource<DeleteBackupRequest>(DeleteBackupRequestKind, namespace)

  async function requestDeletion(backupName: string): Promise<void> {
    const backup = await backupNamed(backupName)
    if (backup === undefined) return
    const labels = {
      'velero.io/backup-name': backupName,
      'velero.io/backup-uid': backup.metadata.uid ?? '',
    }
    await requests().create({
      apiVersion: apiVersionOf(DeleteBackupRequestKind),
      kind: DeleteBackupRequestKind.kind,
      metadata: { generateName: `${backupName}-`, namespace, labels },
      spec: { backupName },
    })
  }

  const backupNamed = (name: string) =>
    scene.client
      .resource<Backup>(BackupKind, namespace)
      .get(name)
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined
        throw error
      })

  /** Waits until a backup is gone. Somebody asks again whose request was answered with errors. */
  async function deleted(name: string, t: TestContext): Promise<void> {
    let last: unknown
    await waitUntil(
      async () => {
        await killing.reviveFailing()
        const backup = await backupNamed(name)
        if (backup === undefined) return true
        const open = (await requests().list().toArray()).filter(({ spec }) => spec.backupName === name)
        last = { backup: backup.status, requests: open.map(({ status }) => status) }
        const failed = open.filter(({ status }) => status?.phase === 'Processed')
        if (open.length === 0 || failed.length < open.length) return false
        for (const { metadata, status } of failed) {
          t.diagnostic(`the deletion failed: ${status?.errors?.join('; ')}`)
          await requests().delete(metadata.name ?? '')
        }
        await requestDeletion(name)
        return false
      },
      {
        timeoutMs: 240_000,
        everyMs: 200,
        failure: () => new Error(`${name} stays: ${JSON.stringify(last)}`),
      },
    )
  }

  /** What is disturbed, and what has to be so afterwards. */
  const acts: readonly ((seed: number, random: SeededRandom, t: TestContext) => Promise<void>)[] = [
    (seed, random, t) => disturbBackup('kept', seed, { random, t }),
    (seed, random, t) => disturbBackup('moved', seed, { random, t }),
    async (seed, random, t) => {
      const way = random.pick(ways)
      const target = await restore(`killed-${seed}`, latest[way].name)
      await killing.killSome(random, t, latest[way].tookMs * 1.5)
      t.diagnostic(`the restore of what is ${way} is ${await killing.ended('restore', `killed-${seed}`)}`)
      await discard(target)
      await restoresEverything(`next-${seed}`, way)
    },
    async (seed, random, t) => {
      const way = random.pick(ways)
      const { name } = latest[way]
      await wholeBackup(seed, way)
      await killing.killSome(random, t, latest[way].tookMs)
      await deleted(name, t)
    },
  ]

  async function disturbBackup(
    way: Way,
    seed: number,
    { random, t }: { random: SeededRandom; t: TestContext },
  ): Promise<void> {
    await change()
    const name = `killed-${seed}`
    await create(name, way)
    await killing.killSome(random, t, latest[way].tookMs)
    t.diagnostic(`the backup is ${await killing.ended('backup', name)}`)
    await scene.nothingIsLeft()
    await requestDeletion(name)
    await wholeBackup(seed, way)
  }

  for (const seed of rotatingSeeds({
    name: 'killed-snapshots',
    count: 3,
    soakCount: 300,
    consecutive: true,
  })) {
    it(`leave nothing behind and lose no snapshot of a backup that is whole (seed ${seed})`, async t => {
      announceSeed(t, seed)
      await acts[seed % acts.length]?.(seed, seededRandom(seed), t)
      await scene.nothingIsLeft()
      await movedIsThere(t)
    })
  }

  it('leave backups behind that are restored as they were', async () => {
    await restoresEverything('last', 'kept')
    await scene.nothingIsLeft()
  })

  /** Everything that a finished DataUpload says is there, and can be read. */
  async function movedIsThere(t: TestContext): Promise<void> {
    const repository = await scene.kopia(t, shop)
    const listed = await repository.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    const ids = new Set(listed.map(({ id }) => id))
    const told = (await scene.dataUploads(latest.moved.name)).map(({ status }) => status)
    assert.ok(told.length > 0 && told.every(status => status?.phase === 'Completed'), JSON.stringify(told))
    assert.deepEqual(
      told.filter(status => !ids.has(status?.snapshotID ?? '')),
      [],
    )
    await repository.verify()
  }
})
