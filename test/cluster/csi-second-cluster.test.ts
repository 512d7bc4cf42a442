import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { VolumeSnapshotClass } from '../../packages/server/src/csi/snapshot-kinds.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { driverClient } from '../csi-driver/driver-client.ts'
import { type CsiPod, createCsiPod, csiPod, csiScene } from './csi-scene.ts'

const here = await givenCluster({ node: true, s3: true, csi: true })
const there = await givenCluster({ node: true, s3: true, csi: true, own: true })

const namespace = 'csi-second'
const data = 'csi-second-data'

/** Two clusters at one storage system and one bucket: what the first put there is brought to the second. */
describe('a backup with CSI snapshots in another cluster than its own', {
  skip: here.skip || there.skip,
  concurrency: false,
}, async () => {
  const first = await csiScene(here, { namespace })
  const second = await csiScene(there, { namespace })
  let pod: CsiPod
  let original: { files: string; disk: string }

  before(async () => {
    pod = await createCsiPod(here.cluster, {
      namespace: data,
      claims: { files: {}, disk: { mode: 'Block' } },
    })
    await pod.run(
      'mkdir /files/a; echo one > /files/a/one; ln -s one /files/a/link; dd if=/dev/urandom of=/dev/disk bs=1M count=1 2>/dev/null',
    )
    original = { files: await pod.tree('/files'), disk: await pod.checksum('disk') }
    const backup = await first.backUp('travel', `--include-namespaces=${data}`)
    assert.equal(backup.status?.phase, 'Completed', JSON.stringify(backup.status))
    const moved = await first.backUp('moved', `--include-namespaces=${data}`, '--snapshot-move-data')
    assert.equal(moved.status?.phase, 'Completed', JSON.stringify(moved.status))
  })
  after(() => here.cluster.kubectl(['delete', 'namespace', data, '--wait=false', '--ignore-not-found']))

  async function snapshotsThere(): Promise<string[]> {
    using driver = driverClient(there.cluster.csi.socket)
    const { entries } = await driver.controller.listSnapshots({})
    return entries.flatMap(({ snapshot }) => snapshot?.snapshotId ?? []).sort()
  }

  async function bringTheStorage(): Promise<void> {
    const handles = await first.driverSnapshots()
    assert.equal(handles.length, 2)
    const folder = (given: typeof here, handle: string) =>
      path.join(given.cluster.csi.stateFolder, 'snapshots', handle)
    const copy = (from: string, to: string) => cp(from, to, { recursive: true, verbatimSymlinks: true })
    await there.cluster.kill('csi-driver')
    for (const handle of handles) await copy(folder(here, handle), folder(there, handle))
    await there.cluster.start('csi-driver')
    const isServing = async () => (await snapshotsThere().catch(() => [])).join() === handles.join()
    const failure = () => new Error('the driver has no snapshots')
    await waitUntil(isServing, { timeoutMs: 60_000, everyMs: 200, failure })
  }

  /** Also while somebody does not answer. */
  const until = (what: string, ask: () => Promise<unknown>) => untilSeen(what, () => ask().catch(() => false))

  const snapshotObjects = () =>
    there.cluster.kubectl([
      ...['get', 'volumesnapshots,volumesnapshotcontents', '--all-namespaces', '-o', 'name'],
    ])

  it('appears with the class of its snapshots, and with no object of a snapshot', async () => {
    const { snapshotClass, driver } = there.cluster.csi
    await there.cluster.kubectl(['delete', 'volumesnapshotclass', snapshotClass])
    await bringTheStorage()
    const often = JSON.stringify({ spec: { backupSyncPeriod: '1s' } })
    const location = ['backupstoragelocation', 'default', '-n', namespace]
    await there.cluster.kubectl(['patch', ...location, '--type=merge', '-p', often])
    // `velero-backup.json` is the last of them.
    for (const key of await first.bucket.keys()) await second.bucket.write(key, await first.bucket.read(key))
    for (const name of ['travel', 'moved'])
      await until(`the backup ${name}`, () => second.succeed('backup', 'get', name))
    const readClass = () => there.cluster.kubectl(['get', 'volumesnapshotclass', snapshotClass, '-o', 'json'])
    await until('the class', readClass)
    const made: VolumeSnapshotClass = JSON.parse(await readClass())
    assert.equal(made.driver, driver)
    assert.equal(made.metadata.annotations?.['lateen.dev/synced'], 'true')
    assert.equal(await snapshotObjects(), '')
  })

  async function isRestored(name: string, backup: string): Promise<void> {
    const restore = await second.restore(name, backup)
    assert.equal(restore.status?.phase, 'Completed', JSON.stringify(restore.status))
    const restored = csiPod(there.cluster, { namespace: data })
    await restored.ready()
    assert.deepEqual(
      { files: await restored.tree('/files'), disk: await restored.checksum('disk') },
      original,
    )
  }

  it('is restored there, and nothing stays of the way', async () => {
    await isRestored('again', 'travel')
    await until('no object of a snapshot', async () => (await snapshotObjects()) === '')
    assert.equal((await snapshotsThere()).length, 2)
  })

  it('is deleted there with its snapshots, also without the class', async () => {
    await there.cluster.kubectl(['delete', 'volumesnapshotclass', there.cluster.csi.snapshotClass])
    await second.deleteBackups('travel')
    assert.deepEqual(await snapshotsThere(), [])
    assert.equal(await snapshotObjects(), '')
    assert.deepEqual(
      (await second.bucket.keys()).filter(key => key.startsWith('backups/travel/')),
      [],
    )
  })

  it('is restored from the repository alone when its data were moved there, files and devices', async () => {
    await there.cluster.kubectl(['delete', 'namespace', data, '--timeout=120s'])
    await isRestored('moved', 'moved')
    const downloads = await second.dataDownloads('moved')
    assert.deepEqual(
      downloads.map(({ status }) => status?.phase),
      ['Completed', 'Completed'],
    )
    await until('no object of a snapshot', async () => (await snapshotObjects()) === '')
    await second.deleteBackups('moved')
  })

  it('leaves nothing in its own cluster either', async () => {
    await first.deleteBackups('travel', 'moved')
    assert.deepEqual(await first.driverSnapshots(), [])
    await first.nothingIsLeft()
  })
})
