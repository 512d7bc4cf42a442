import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { locationPhases } from '../phases.ts'
import { enumeration, map, object, required, string } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { secretKeySelector } from '../secret-key-selector.ts'

const volumeSnapshotLocationSpec = object('Where snapshots of volumes are kept.', {
  provider: required(string('The volume snapshot plugin.')),
  config: map('Settings for the plugin.'),
  credential: secretKeySelector('The secret with the credentials.'),
})

/** Where snapshots of volumes are kept. */
export interface VolumeSnapshotLocationSpec extends Infer<typeof volumeSnapshotLocationSpec> {}

const volumeSnapshotLocationStatus = object('Whether the location works; nothing sets it.', {
  phase: enumeration('Whether the location can be used.', locationPhases),
})

/** Whether a snapshot location works. */
export interface VolumeSnapshotLocationStatus extends Infer<typeof volumeSnapshotLocationStatus> {}

/** A place where a plugin keeps snapshots of volumes. */
export interface VolumeSnapshotLocation
  extends CustomObject<VolumeSnapshotLocationSpec, VolumeSnapshotLocationStatus> {}

/** The kind VolumeSnapshotLocation. No controller moves its phase, so it has no moves. */
export const VolumeSnapshotLocationKind: KindDescription<VolumeSnapshotLocation> = describeKind({
  kind: 'VolumeSnapshotLocation',
  plural: 'volumesnapshotlocations',
  shortNames: ['vsl'],
  description: 'A place where a plugin keeps snapshots of volumes.',
  schema: { spec: volumeSnapshotLocationSpec, status: volumeSnapshotLocationStatus },
})
