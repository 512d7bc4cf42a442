import type { ActionItem, OperationProgress } from './item-actions.ts'

/** The settings of a snapshot location: strings only, plus `credentialsFile`. */
export type VolumeSnapshotterConfig = Readonly<Record<string, string | undefined>>

export interface SnapshotterInitOptions {
  config: VolumeSnapshotterConfig
  signal?: AbortSignal | undefined
}

/** A volume of the provider, where it is. */
export interface VolumeOptions {
  volumeId: string
  /** The availability zone; empty where there is none. */
  volumeZone: string
  signal?: AbortSignal | undefined
}

export interface CreateSnapshotOptions extends VolumeOptions {
  tags: Readonly<Record<string, string>>
}

export interface SnapshotOptions {
  snapshotId: string
  signal?: AbortSignal | undefined
}

export interface CreateVolumeOptions extends SnapshotOptions {
  volumeType: string
  volumeZone: string
  /** Absent where the provider said nothing about it. */
  iops?: number | undefined
}

export interface VolumeInfo {
  volumeType: string
  iops?: number | undefined
}

export interface PersistentVolumeOptions {
  persistentVolume: ActionItem
  signal?: AbortSignal | undefined
}

export interface SetVolumeIdOptions extends PersistentVolumeOptions {
  volumeId: string
}

/** Takes snapshots of the volumes of one provider, and makes volumes from them. Used concurrently once it is initialised. */
export interface VolumeSnapshotter {
  /** Called before all else. */
  init(options: SnapshotterInitOptions): Promise<void>
  /** Resolves to the id of the new volume. */
  createVolumeFromSnapshot(options: CreateVolumeOptions): Promise<string>
  getVolumeInfo(options: VolumeOptions): Promise<VolumeInfo>
  /** Resolves to the id of the snapshot, which names its operation too; the upload may go on afterwards. */
  createSnapshot(options: CreateSnapshotOptions): Promise<string>
  /** Deleting what is not there is no error. Ends an upload that still runs. */
  deleteSnapshot(options: SnapshotOptions): Promise<void>
  /** The provider's id of a PersistentVolume; undefined when the volume is not this provider's. */
  getVolumeId(options: PersistentVolumeOptions): Promise<string | undefined>
  /** The PersistentVolume as it is when it stands for that volume. */
  setVolumeId(options: SetVolumeIdOptions): Promise<ActionItem>
  /** How far the upload of a snapshot has come, in any process of the plugin. Absent: snapshots are complete at once. */
  progress?(options: SnapshotOptions): Promise<OperationProgress>
  /** Without effect on a snapshot that is complete. */
  cancel?(options: SnapshotOptions): Promise<void>
}
