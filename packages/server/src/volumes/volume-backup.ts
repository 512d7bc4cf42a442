import type { Backup, PodVolumeBackup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { VolumeInfo } from './volume-info.ts'

/** Why a way of backing up volumes cannot be used in this server. */
export interface Unavailable {
  unavailable: string
}

/** What came of asking for the backup of a pod's volumes. */
export interface PodVolumesBegun {
  /** Volumes whose backup has begun. */
  begun: readonly string[]
  /** Volumes that cannot be taken, and why. */
  skipped: readonly { volume: string; reason: string }[]
  /** The pod is left out of the backup when there is one. */
  errors: readonly Error[]
}

/** Backs up volumes from the file system of the node where a pod runs. */
export interface PodVolumeBackups {
  /** Begins the backup of some volumes of a pod, and does not wait for its end. */
  begin(
    request: { pod: ActionItem; volumes: readonly string[]; backup: Backup },
    signal: AbortSignal,
  ): Promise<PodVolumesBegun>
  /** Waits until everything begun for a pod has ended, well or not. */
  ended(pod: { namespace: string; name: string }, signal: AbortSignal): Promise<void>
  /** Waits for all that was begun. Failures are in the objects, not thrown. */
  finish(signal: AbortSignal): Promise<{ podVolumeBackups: PodVolumeBackup[]; volumeInfo: VolumeInfo[] }>
}

/** An entry of `-volumesnapshots.json.gz`. */
export interface NativeSnapshot {
  spec: {
    backupName: string
    backupUID: string
    location: string
    persistentVolumeName: string
    providerVolumeID: string
    volumeType: string
    volumeAZ?: string
    volumeIOPS?: number
  }
  status: { providerSnapshotID?: string; phase: 'New' | 'Completed' | 'Failed' }
}

/** What came of asking for a snapshot. */
export type SnapshotTaken =
  /** With the full name of its location's provider; an error says why it is Failed. */
  | { snapshot: NativeSnapshot; provider: string; volumeInfo: VolumeInfo; error?: Error }
  /** No snapshot was tried. */
  | { error: Error; snapshot?: never }
  /** No snapshotter knows this volume. */
  | { skipped: string }

/** Takes snapshots of persistent volumes through the storage provider's own API. */
export interface NativeSnapshots {
  /** Those that were tried so far. */
  readonly taken: readonly NativeSnapshot[]
  /** Throws the signal's reason, and nothing else. */
  take(request: { volume: ActionItem; backup: Backup }, signal: AbortSignal): Promise<SnapshotTaken>
  /** Stops the upload of a snapshot that was taken, if it can be stopped. Throws the signal's reason, and nothing else. */
  cancel(snapshot: NativeSnapshot, signal: AbortSignal): Promise<void>
}

/** The ways of backing up the data of volumes that a server has. Snapshots through CSI are actions on claims. */
export interface VolumeBackup {
  podVolumes: PodVolumeBackups | Unavailable
  snapshots: NativeSnapshots | Unavailable
}

/** For servers and callers that cannot back up data. Volumes are recorded as skipped, with this as the reason. */
export const noVolumeBackup: VolumeBackup = {
  podVolumes: { unavailable: 'file system backup is not available without a server' },
  snapshots: { unavailable: 'volume snapshots are not available in this server yet' },
}
