import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import { copyContent } from './copy-content.ts'
import { CsiError, required } from './csi-error.ts'
import { type Driver, existingVolume } from './driver.ts'
import { membersOf, type SnapshotRecord } from './driver-state.ts'
import type { Faults } from './faults.ts'
import { pageOf } from './page.ts'
import { flushVolume } from './published-volumes.ts'
import type { Controller } from './wire/csi_pb.ts'

type SnapshotMethods = 'createSnapshot' | 'deleteSnapshot' | 'listSnapshots' | 'getSnapshot'

/** Snapshots of single volumes. */
export function snapshotHandlers(driver: Driver): Pick<HandlersOf<typeof Controller>, SnapshotMethods> {
  const { state, locks } = driver
  const { snapshots } = state
  const answer = async (snapshot: SnapshotRecord) => ({ snapshot: await snapshotMessage(driver, snapshot) })
  return {
    createSnapshot: ({ name, sourceVolumeId }) => {
      required(name, 'the name')
      required(sourceVolumeId, 'the source volume ID')
      return locks.run(`snapshot ${name}`, async () => {
        const existing = snapshots.named(name)
        if (existing && existing.sourceVolumeId !== sourceVolumeId) {
          throw new CsiError('ALREADY_EXISTS', `a snapshot ${name} of another volume exists`)
        }
        return answer(existing ?? (await takeSnapshot(driver, { name, sourceVolumeId })))
      })
    },
    deleteSnapshot: async ({ snapshotId }) => {
      const snapshot = snapshots.get(required(snapshotId, 'the snapshot ID'))
      if (snapshot) await locks.run(`snapshot ${snapshot.name}`, () => deleteSnapshot(driver, snapshot))
      return {}
    },
    listSnapshots: async request => {
      const { snapshotId, sourceVolumeId } = request
      const wanted = snapshots
        .list()
        .filter(({ id }) => snapshotId === '' || id === snapshotId)
        .filter(snapshot => sourceVolumeId === '' || snapshot.sourceVolumeId === sourceVolumeId)
      const { page, nextToken } = pageOf(wanted, request)
      return { entries: await Promise.all(page.map(answer)), nextToken }
    },
    getSnapshot: async ({ snapshotId }) => {
      const snapshot = snapshots.get(required(snapshotId, 'the snapshot ID'))
      if (snapshot === undefined) throw new CsiError('NOT_FOUND', `there is no snapshot ${snapshotId}`)
      return answer(snapshot)
    },
  }
}

/** Copies a volume into a snapshot. Throws NOT_FOUND where there is no such volume. */
export async function takeSnapshot(
  driver: Driver,
  fields: Pick<SnapshotRecord, 'name' | 'sourceVolumeId' | 'groupId'>,
): Promise<SnapshotRecord> {
  const { volumes, snapshots } = driver.state
  const volume = existingVolume(driver, fields.sourceVolumeId)
  const record = {
    ...fields,
    id: driver.newId(),
    mode: volume.mode,
    sizeBytes: volume.capacityBytes,
    createdAtMs: driver.now(),
  }
  return snapshots.add(record, async content => {
    await flushVolume(driver, volume)
    await copyContent(volumes.contentOf(volume.id), content, volume.mode)
  })
}

/** A group goes with the last of its members. */
async function deleteSnapshot(driver: Driver, { id, groupId }: SnapshotRecord): Promise<void> {
  const { snapshots, groups } = driver.state
  const { groupMembersStay = false } = await driver.faults.current()
  if (groupId !== undefined && groupMembersStay) {
    throw new CsiError('INVALID_ARGUMENT', `the snapshot ${id} can only be deleted with its group ${groupId}`)
  }
  await snapshots.remove(id)
  if (groupId !== undefined && membersOf(driver.state, groupId).length === 0) await groups.remove(groupId)
}

/** A snapshot as callers see it. */
export async function snapshotMessage(driver: Driver, snapshot: SnapshotRecord) {
  const { id, sourceVolumeId, sizeBytes, createdAtMs, groupId } = snapshot
  return {
    snapshotId: id,
    sourceVolumeId,
    sizeBytes: BigInt(sizeBytes),
    creationTime: timestampFromMs(createdAtMs),
    readyToUse: isReady(snapshot, await driver.faults.current(), driver.now()),
    ...(groupId !== undefined && { groupSnapshotId: groupId }),
  }
}

/** Whether volumes can be made of a snapshot. */
export function isReady(
  { createdAtMs }: Pick<SnapshotRecord, 'createdAtMs'>,
  { snapshotsReady = { afterMs: 0 } }: Faults,
  nowMs: number,
): boolean {
  return snapshotsReady !== 'never' && nowMs >= createdAtMs + snapshotsReady.afterMs
}
