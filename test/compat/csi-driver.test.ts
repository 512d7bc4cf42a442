import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { status } from '@grpc/grpc-js'
import { withoutDriver } from '../csi-driver/driver-available.ts'
import { type DriverClient, driverClient } from '../csi-driver/driver-client.ts'
import { type DriverProcess, startDriver } from '../csi-driver/driver-process.ts'
import { setFaults } from '../csi-driver/faults.ts'
import { VolumeCapability_AccessMode_Mode as AccessMode } from '../csi-driver/wire/csi_pb.ts'

const mebibyte = 1024n ** 2n

describe('the test CSI driver', { skip: withoutDriver(), concurrency: false }, () => {
  let folder = ''
  let driver: DriverProcess
  let client: DriverClient
  before(async () => {
    folder = await mkdtemp('/var/tmp/lateen-csi-driver-')
    driver = await startDriver(folder)
    client = driverClient(driver.socket)
  })
  after(async () => {
    client[Symbol.dispose]()
    await driver.kill()
    await rm(folder, { recursive: true, force: true })
  })

  const file = (name: string, bytes = mebibyte) => ({
    name,
    capacityRange: { requiredBytes: bytes },
    volumeCapabilities: [
      {
        accessType: { case: 'mount' as const, value: {} },
        accessMode: { mode: AccessMode.SINGLE_NODE_WRITER },
      },
    ],
  })
  const contentOf = (kind: 'volumes' | 'snapshots', id: string) =>
    path.join(driver.stateFolder, kind, id, 'content')

  async function volume(name: string): Promise<string> {
    return (await client.controller.createVolume(file(name))).volume?.volumeId ?? ''
  }

  async function snapshot(name: string, sourceVolumeId: string): Promise<string> {
    return (await client.controller.createSnapshot({ name, sourceVolumeId })).snapshot?.snapshotId ?? ''
  }

  it('lists in pages whose tokens hold when volumes come and go between them', async () => {
    const names = ['page-1', 'page-2', 'page-3', 'page-4']
    const [first, second, third, fourth] = await Array.fromAsync(names, volume)
    const { entries, nextToken } = await client.controller.listVolumes({ maxEntries: 2 })
    assert.deepEqual(
      entries.map(entry => entry.volume?.volumeId),
      [first, second],
    )
    await client.controller.deleteVolume({ volumeId: second ?? '' })
    const fifth = await volume('page-5')
    const rest = await client.controller.listVolumes({ startingToken: nextToken })
    assert.deepEqual(
      rest.entries.map(entry => entry.volume?.volumeId),
      [third, fourth, fifth],
    )
    assert.equal(rest.nextToken, '')
  })

  it('keeps in a snapshot what the volume held then, after a kill as well', async () => {
    const source = await volume('kept')
    await writeFile(path.join(contentOf('volumes', source), 'file'), 'then')
    const id = await snapshot('kept', source)
    await writeFile(path.join(contentOf('volumes', source), 'file'), 'now')
    await driver.kill()
    await driver.start()
    client[Symbol.dispose]()
    client = driverClient(driver.socket)
    assert.equal(await snapshot('kept', source), id)
    const restored = await client.controller.createVolume({
      ...file('restored'),
      volumeContentSource: { type: { case: 'snapshot', value: { snapshotId: id } } },
    })
    const content = contentOf('volumes', restored.volume?.volumeId ?? '')
    assert.equal(await readFile(path.join(content, 'file'), 'utf8'), 'then')
  })

  it('refuses a volume that is smaller than the snapshot it is made of', async () => {
    const large = await client.controller.createVolume(file('large', 8n * mebibyte))
    const id = await snapshot('large', large.volume?.volumeId ?? '')
    const volumeContentSource = { type: { case: 'snapshot' as const, value: { snapshotId: id } } }
    const small = client.controller.createVolume({ ...file('small'), volumeContentSource })
    await assert.rejects(small, { code: status.OUT_OF_RANGE })
  })

  it('fails at the n-th call that it is told, and only as often', async () => {
    const source = await volume('struck')
    const error = { code: 'UNAVAILABLE', message: 'the storage is away' } as const
    await setFaults(driver.stateFolder, { calls: [{ method: 'CreateSnapshot', at: 2, times: 1, error }] })
    await snapshot('struck-1', source)
    await assert.rejects(snapshot('struck-2', source), { code: status.UNAVAILABLE, details: error.message })
    const { entries } = await client.controller.listSnapshots({ sourceVolumeId: source })
    assert.equal(entries.length, 1)
    await snapshot('struck-2', source)
    await setFaults(driver.stateFolder, {})
  })

  it('can do the work and lose the answer', async () => {
    const source = await volume('unanswered')
    const error = { code: 'DEADLINE_EXCEEDED', message: 'lost', afterwards: true } as const
    await setFaults(driver.stateFolder, { calls: [{ method: 'CreateSnapshot', error }] })
    await assert.rejects(snapshot('unanswered', source), { code: status.DEADLINE_EXCEEDED })
    const { entries } = await client.controller.listSnapshots({ sourceVolumeId: source })
    assert.equal(entries.length, 1)
    await setFaults(driver.stateFolder, {})
    assert.equal(await snapshot('unanswered', source), entries[0]?.snapshot?.snapshotId)
  })

  it('can have snapshots that never become ready, until it may', async () => {
    const source = await volume('unready')
    const ready = async () => {
      const { entries } = await client.controller.listSnapshots({ sourceVolumeId: source })
      return entries.map(entry => entry.snapshot?.readyToUse)
    }
    await setFaults(driver.stateFolder, { snapshotsReady: 'never' })
    await snapshot('unready', source)
    assert.deepEqual(await ready(), [false])
    await setFaults(driver.stateFolder, { snapshotsReady: { afterMs: 0 } })
    assert.deepEqual(await ready(), [true])
  })

  it('says so when it is told nonsense', async () => {
    await writeFile(path.join(driver.stateFolder, 'faults.json'), '{"calls": [{"at": 3}]}')
    await assert.rejects(client.identity.probe({}), { code: status.INTERNAL, details: /faults\.json/ })
    await setFaults(driver.stateFolder, {})
    await client.identity.probe({})
  })

  it('takes a group of snapshots whole, and forgets it with its last member', async () => {
    const sourceVolumeIds = [await volume('group-1'), await volume('group-2')]
    await assert.rejects(
      client.groupController.createVolumeGroupSnapshot({
        name: 'group',
        sourceVolumeIds: [...sourceVolumeIds, 'none'],
      }),
      { code: status.NOT_FOUND },
    )
    const request = { name: 'group', sourceVolumeIds }
    const { groupSnapshot } = await client.groupController.createVolumeGroupSnapshot(request)
    assert.ok(groupSnapshot)
    assert.deepEqual(
      groupSnapshot.snapshots.map(member => member.sourceVolumeId),
      sourceVolumeIds,
    )
    const again = await client.groupController.createVolumeGroupSnapshot(request)
    assert.deepEqual(again.groupSnapshot, groupSnapshot)

    const members = groupSnapshot.snapshots.map(({ snapshotId }) => snapshotId)
    await setFaults(driver.stateFolder, { groupMembersStay: true })
    await assert.rejects(client.controller.deleteSnapshot({ snapshotId: members[0] ?? '' }), {
      code: status.INVALID_ARGUMENT,
    })
    await setFaults(driver.stateFolder, {})
    for (const snapshotId of members) await client.controller.deleteSnapshot({ snapshotId })
    await assert.rejects(
      client.groupController.getVolumeGroupSnapshot({ groupSnapshotId: groupSnapshot.groupSnapshotId }),
      { code: status.NOT_FOUND },
    )
  })
})
