import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import { CsiError, required } from './csi-error.ts'
import { type Driver, existingVolume } from './driver.ts'
import { type GroupRecord, membersOf } from './driver-state.ts'
import { snapshotMessage, takeSnapshot } from './snapshot-handlers.ts'
import { type GroupController, GroupControllerServiceCapability_RPC_Type as Rpc } from './wire/csi_pb.ts'

/** Snapshots of several volumes under one name. */
export function groupControllerService(driver: Driver): HandlersOf<typeof GroupController> {
  const { state, locks } = driver
  const { groups } = state
  return {
    groupControllerGetCapabilities: async () => ({
      capabilities: [{ type: { case: 'rpc', value: { type: Rpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT } } }],
    }),
    createVolumeGroupSnapshot: ({ name, sourceVolumeIds }) => {
      required(name, 'the name')
      if (sourceVolumeIds.length === 0) throw new CsiError('INVALID_ARGUMENT', 'no source volume is named')
      return locks.run(`group ${name}`, async () => {
        const existing = groups.named(name)
        if (existing && !isOf(existing, sourceVolumeIds)) {
          throw new CsiError('ALREADY_EXISTS', `a group snapshot ${name} of other volumes exists`)
        }
        const group = existing ?? (await takeGroup(driver, { name, sourceVolumeIds }))
        return { groupSnapshot: await groupMessage(driver, group) }
      })
    },
    deleteVolumeGroupSnapshot: async ({ groupSnapshotId }) => {
      const group = groups.get(required(groupSnapshotId, 'the group snapshot ID'))
      if (group) await locks.run(`group ${group.name}`, () => removeGroup(driver, group.id))
      return {}
    },
    getVolumeGroupSnapshot: async ({ groupSnapshotId, snapshotIds }) => {
      const group = groups.get(required(groupSnapshotId, 'the group snapshot ID'))
      if (group === undefined) {
        throw new CsiError('NOT_FOUND', `there is no group snapshot ${groupSnapshotId}`)
      }
      const members = new Set(membersOf(state, group.id).map(({ id }) => id))
      const stranger = snapshotIds.find(id => !members.has(id))
      if (stranger !== undefined) {
        throw new CsiError('INVALID_ARGUMENT', `the snapshot ${stranger} is not of the group ${group.id}`)
      }
      return { groupSnapshot: await groupMessage(driver, group) }
    },
  }
}

function isOf(group: GroupRecord, sourceVolumeIds: readonly string[]): boolean {
  return new Set(group.sourceVolumeIds).symmetricDifference(new Set(sourceVolumeIds)).size === 0
}

/** Takes all members or none. */
async function takeGroup(
  driver: Driver,
  { name, sourceVolumeIds }: Pick<GroupRecord, 'name' | 'sourceVolumeIds'>,
): Promise<GroupRecord> {
  for (const id of sourceVolumeIds) existingVolume(driver, id)
  const id = driver.newId()
  try {
    for (const sourceVolumeId of sourceVolumeIds) {
      await takeSnapshot(driver, { name: `${id}/${sourceVolumeId}`, sourceVolumeId, groupId: id })
    }
    return await driver.state.groups.add(
      { id, name, sourceVolumeIds, createdAtMs: driver.now() },
      async () => {},
    )
  } catch (error) {
    await removeGroup(driver, id)
    throw error
  }
}

async function removeGroup({ state }: Driver, id: string): Promise<void> {
  await state.groups.remove(id)
  for (const member of membersOf(state, id)) await state.snapshots.remove(member.id)
}

async function groupMessage(driver: Driver, { id, createdAtMs }: GroupRecord) {
  const members = membersOf(driver.state, id)
  const snapshots = await Promise.all(members.map(member => snapshotMessage(driver, member)))
  return {
    groupSnapshotId: id,
    snapshots,
    creationTime: timestampFromMs(createdAtMs),
    readyToUse: snapshots.every(({ readyToUse }) => readyToUse),
  }
}
