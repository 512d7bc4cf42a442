import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Backup, BackupKind, type PodVolumeBackup } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { createFilesPod, type FilesPod, filesPod, fsScene } from './fs-scene.ts'
import { killScene } from './kill-scene.ts'

const given = await givenCluster({ node: true, s3: true })
const namespace = 'fs-kill'
const shop = 'fs-kill-shop'
const volumes = ['data', 'cache']

describe('programs that are killed while the files of volumes move', {
  skip: given.skip,
  concurrency: false,
}, async () => {
  const kubectl = (...args: Parameters<typeof given.cluster.kubectl>) => given.cluster.kubectl(...args)
  let client: KubeClient
  let pod: FilesPod
  /** How long a backup takes here and now, from its creation to its end. */
  let usualMs: number
  const killing = killScene({ given, namespace, client: () => client })
  const { ended, killSome, recovered } = killing

  before(async () => {
    const config = JSON.stringify({ loadConcurrency: { globalConfig: 2 } })
    const objects = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'agents', namespace }, data: { config } },
    ]
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    await kubectl(['apply', '-f', '-'], { stdin })
  })
  const scene = await fsScene(given, { namespace, flags: ['--node-agent-configmap=agents'] })
  before(async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath, env: {} })
    client = await createKubeClient({ config })
    pod = await createFilesPod(given.cluster, {
      namespace: shop,
      volumes: Object.fromEntries(volumes.map(name => [name, { emptyDir: {} }])),
    })
    await pod.run(
      volumes
        .map(
          name =>
            `cd /${name}; mkdir a; i=0; while [ $i -lt 200 ]; do echo ${name} $i > a/$i; i=$((i+1)); done`,
        )
        .join('; '),
    )
    await change('first')
    const started = performance.now()
    await createBackup('first')
    assert.equal(await ended('backup', 'first'), 'Completed')
    usualMs = performance.now() - started
  })
  after(async () => {
    await client?.[Symbol.asyncDispose]()
    await kubectl(['delete', 'namespace', shop, '--wait=false', '--ignore-not-found'])
  })

  /** Makes every volume different from what was backed up before. */
  const change = (name: string) =>
    pod.run(
      volumes.map(volume => `dd if=/dev/urandom of=/${volume}/${name} bs=1M count=6 2>/dev/null`).join('; '),
    )

  const createBackup = (name: string) =>
    killing.createBackup(name, {
      includedNamespaces: [shop],
      defaultVolumesToFsBackup: true,
      storageLocation: 'default',
    })

  async function createRestore(name: string, backupName: string): Promise<string> {
    const target = `${shop}-${name}`
    await killing.createRestore(name, { backupName, namespaceMapping: { [shop]: target } })
    return target
  }

  const seeds = rotatingSeeds({ name: 'killed-movers', count: 3, soakCount: 300, consecutive: true })
  for (const seed of seeds.filter(seed => seed % 2 === 0)) {
    it(`lose no snapshot that was told of, and the next backup is whole (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      await change('changing')
      await createBackup(`killed-${seed}`)
      await killSome(random, t, usualMs)
      t.diagnostic(`the backup is ${await ended('backup', `killed-${seed}`)}`)
      await scene.settled()
      await recovered()
      await createBackup(`next-${seed}`)
      assert.equal(await ended('backup', `next-${seed}`), 'Completed')
      await scene.settled()
      await snapshotsAreThere(t)
    })
  }

  for (const seed of seeds.filter(seed => seed % 2 === 1)) {
    it(`leave no restore half way, and the next one brings back everything (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const from = await latestBackup()
      const target = await createRestore(`killed-${seed}`, from)
      await killSome(random, t, usualMs)
      const phase = await ended('restore', `killed-${seed}`)
      t.diagnostic(`the restore is ${phase}`)
      await scene.settled()
      if (phase === 'Completed') await isWhole(target)
      await kubectl(['delete', 'namespace', target, '--wait=false', '--ignore-not-found'])
      await restoresEverything(`next-${seed}`, from)
    })
  }

  // Restores that nobody disturbs, after those that somebody did, show the same.
  if (seeds.every(seed => seed % 2 === 0)) {
    it('leave backups behind that are restored as they were', async () =>
      restoresEverything('last', await latestBackup()))
  }

  async function latestBackup(): Promise<string> {
    const backups = await client.resource<Backup>(BackupKind, namespace).list().toArray()
    const completed = backups.filter(({ status }) => status?.phase === 'Completed')
    completed.sort((a, b) =>
      (a.status?.completionTimestamp ?? '').localeCompare(b.status?.completionTimestamp ?? ''),
    )
    return completed.at(-1)?.metadata.name ?? ''
  }

  async function restoresEverything(name: string, backup: string): Promise<void> {
    await recovered()
    const target = await createRestore(name, backup)
    assert.equal(await ended('restore', name), 'Completed')
    await isWhole(target)
    await kubectl(['delete', 'namespace', target, '--wait=false'])
    await scene.settled()
  }

  /** The pod in a namespace has what the one has that all backups are of. */
  async function isWhole(target: string): Promise<void> {
    const copy = filesPod(given.cluster, { namespace: target })
    await copy.ready()
    for (const volume of volumes) {
      assert.equal(await copy.tree(`/${volume}`), await pod.tree(`/${volume}`), volume)
    }
  }

  /** Everything that a PodVolumeBackup says is there, and can be read. */
  async function snapshotsAreThere(t: TestContext): Promise<void> {
    const repository = await scene.kopia(t, shop)
    const listed = await repository.json<{ id: string }[]>(['snapshot', 'list', '--all'])
    const ids = new Set(listed.map(({ id }) => id))
    const told = (await scene.podVolumeBackups()).filter(({ status }) => status?.phase === 'Completed')
    const missing = told.filter(({ status }) => !ids.has(status?.snapshotID ?? '')).map(nameOf)
    assert.deepEqual(missing, [])
    await repository.verify()
  }

  const nameOf = ({ metadata, status }: PodVolumeBackup) => `${metadata.name}: ${status?.snapshotID}`
})
