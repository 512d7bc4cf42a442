import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { withoutDriver } from '../csi-driver/driver-available.ts'
import { type DriverClient, driverClient } from '../csi-driver/driver-client.ts'
import { type DriverProcess, startDriver } from '../csi-driver/driver-process.ts'
import { VolumeCapability_AccessMode_Mode as AccessMode } from '../csi-driver/wire/csi_pb.ts'

const fileNames = Array.from({ length: 60 }, (_, index) => `file-${index}`)

const volumeRequest = (name: string) => ({
  name,
  capacityRange: { requiredBytes: 1024n ** 2n },
  volumeCapabilities: [
    {
      accessType: { case: 'mount' as const, value: {} },
      accessMode: { mode: AccessMode.SINGLE_NODE_WRITER },
    },
  ],
})

/** A volume with files. */
async function filledVolume(driver: DriverProcess, client: DriverClient, name: string): Promise<string> {
  const { volume } = await client.controller.createVolume(volumeRequest(name))
  const id = volume?.volumeId ?? ''
  const content = path.join(driver.stateFolder, 'volumes', id, 'content')
  await mkdir(path.join(content, 'deep'))
  for (const file of fileNames) await writeFile(path.join(content, 'deep', file), `${name} ${file}`)
  return id
}

/** All that is asked of the driver; the same calls again have to give the same things. */
function requests({ controller, groupController }: DriverClient, [first = '', second = '']: string[]) {
  const made = async (name: string) => {
    const { snapshot } = await controller.createSnapshot({ name, sourceVolumeId: first })
    return snapshot?.snapshotId ?? ''
  }
  return [
    () => made('one'),
    () => made('two'),
    async () => controller.deleteSnapshot({ snapshotId: await made('gone') }),
    async () =>
      controller.createVolume({
        ...volumeRequest('restored'),
        volumeContentSource: { type: { case: 'snapshot', value: { snapshotId: await made('source') } } },
      }),
    () =>
      controller.createVolume({
        ...volumeRequest('clone'),
        volumeContentSource: { type: { case: 'volume', value: { volumeId: second } } },
      }),
    () => groupController.createVolumeGroupSnapshot({ name: 'group', sourceVolumeIds: [first, second] }),
    async () => {
      const request = { name: 'lost group', sourceVolumeIds: [first, second] }
      const { groupSnapshot } = await groupController.createVolumeGroupSnapshot(request)
      return groupController.deleteVolumeGroupSnapshot({
        groupSnapshotId: groupSnapshot?.groupSnapshotId ?? '',
      })
    },
  ]
}

interface Kept {
  id: string
  name: string
  groupId?: string
  sourceVolumeIds?: string[]
}

async function kept(driver: DriverProcess, kind: 'volumes' | 'snapshots' | 'groups'): Promise<Kept[]> {
  const folder = path.join(driver.stateFolder, kind)
  assert.deepEqual(await readdir(`${folder}.aside`), [], `${kind} half made`)
  const ids = await readdir(folder)
  return Promise.all(
    ids.map(async id => JSON.parse(await readFile(path.join(folder, id, 'record.json'), 'utf8'))),
  )
}

/** Checks that everything there is, is whole. */
async function assertWhole(driver: DriverProcess): Promise<void> {
  const groups = await kept(driver, 'groups')
  const snapshots = await kept(driver, 'snapshots')
  const volumes = await kept(driver, 'volumes')
  for (const kind of [groups, snapshots, volumes]) {
    const names = kind.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length, `a name twice: ${names}`)
  }
  for (const { id, sourceVolumeIds } of groups) {
    assert.equal(snapshots.filter(({ groupId }) => groupId === id).length, sourceVolumeIds?.length)
  }
  const known = new Set(groups.map(({ id }) => id))
  assert.deepEqual(
    snapshots.filter(({ groupId }) => groupId !== undefined && !known.has(groupId)),
    [],
  )
  for (const [kind, records] of Object.entries({ snapshots, volumes })) {
    for (const { id } of records) {
      const files = await readdir(path.join(driver.stateFolder, kind, id, 'content', 'deep'))
      assert.deepEqual(new Set(files), new Set(fileNames), `${kind} ${id}`)
    }
  }
}

describe('the test CSI driver, killed at any instant', { skip: withoutDriver() }, () => {
  for (const seed of rotatingSeeds({ name: 'killed-csi-driver', count: 3, soakCount: 100 })) {
    it(`has what it has whole, and ends what is asked again (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      await using folder = await mkdtempDisposable('/var/tmp/lateen-csi-kill-')
      await using driver = await startDriver(folder.path)
      using before = driverClient(driver.socket)
      const sources = await Promise.all(['first', 'second'].map(name => filledVolume(driver, before, name)))
      const answers = Promise.allSettled(requests(before, sources).map(ask => ask()))
      await sleep(random.integer(0, 120))
      await driver.kill()
      await answers
      await driver.start()
      await assertWhole(driver)
      using after = driverClient(driver.socket)
      for (const ask of requests(after, sources)) await ask()
      await assertWhole(driver)
      const { entries } = await after.controller.listSnapshots({})
      assert.equal(entries.length, 5, 'three of their own and two of a group')
    })
  }
})
