import { rm } from 'node:fs/promises'
import path from 'node:path'
import { type DriverRecord, RecordFolder } from './record-folder.ts'

/** Whether a volume is a folder that is mounted, or a file that is a block device. */
export type VolumeMode = 'mount' | 'block'

/** What a volume was made from. */
export type VolumeSource = { readonly snapshot: string } | { readonly volume: string }

export interface VolumeRecord extends DriverRecord {
  readonly mode: VolumeMode
  readonly capacityBytes: number
  readonly source?: VolumeSource
}

export interface SnapshotRecord extends DriverRecord {
  readonly mode: VolumeMode
  readonly sourceVolumeId: string
  readonly sizeBytes: number
  readonly createdAtMs: number
  /** The group that it was taken with. */
  readonly groupId?: string
}

/** Snapshots that were taken together. */
export interface GroupRecord extends DriverRecord {
  readonly sourceVolumeIds: readonly string[]
  readonly createdAtMs: number
}

/** Everything the driver keeps, all of it in one folder. */
export interface DriverState {
  readonly volumes: RecordFolder<VolumeRecord>
  readonly snapshots: RecordFolder<SnapshotRecord>
  readonly groups: RecordFolder<GroupRecord>
}

/**
 * Opens the state in a folder. A group is recorded after its members and removed before them: members without a group are left from a process that was
 * killed in between, and go.
 */
export async function openDriverState(folder: string): Promise<DriverState> {
  const [volumes, snapshots, groups] = await Promise.all([
    RecordFolder.open<VolumeRecord>(path.join(folder, 'volumes')),
    RecordFolder.open<SnapshotRecord>(path.join(folder, 'snapshots')),
    RecordFolder.open<GroupRecord>(path.join(folder, 'groups')),
  ])
  for (const { id, groupId } of snapshots.list()) {
    if (groupId !== undefined && groups.get(groupId) === undefined) await snapshots.remove(id)
  }
  await rm(path.join(folder, 'faults.json.new'), { force: true })
  return { volumes, snapshots, groups }
}

/** The members of a group that are still there. */
export function membersOf(state: DriverState, groupId: string): SnapshotRecord[] {
  return state.snapshots.list().filter(snapshot => snapshot.groupId === groupId)
}
