import type { Backup, DeleteBackupRequest, PodVolumeBackup } from '@lateen/api'

/** A file of the object store, as far as it could be had. */
export type Fetched<T> =
  | { readonly got: 'content'; readonly content: T }
  /** The object store does not have it. */
  | { readonly got: 'nothing' }
  | { readonly got: 'error'; readonly while: 'getting' | 'reading'; readonly reason: string }

/** Warnings or errors by what they are about. */
export interface ResultList {
  readonly velero?: readonly string[] | null
  readonly cluster?: readonly string[] | null
  readonly namespaces?: Readonly<Record<string, readonly string[]>> | null
}

export interface BackupResults {
  readonly warnings?: ResultList
  readonly errors?: ResultList
}

/** Names by `group/version/Kind`. */
export type ResourceList = Readonly<Record<string, readonly string[] | null>>

/** How one volume was backed up: an entry of `-volumeinfo.json.gz`. */
export interface VolumeInfo {
  readonly pvcName?: string
  readonly pvcNamespace?: string
  readonly pvName?: string
  readonly backupMethod?: string
  readonly snapshotDataMoved?: boolean
  readonly preserveLocalSnapshot?: boolean
  readonly result?: string
  readonly csiSnapshotInfo?: {
    readonly snapshotHandle?: string
    readonly size?: number
    readonly driver?: string
    readonly vscName?: string
    readonly operationID?: string
  }
  readonly snapshotDataMovementInfo?: {
    readonly dataMover?: string
    readonly uploaderType?: string
    readonly operationID?: string
    readonly size?: number
    readonly incrementalSize?: number
  }
  readonly nativeSnapshotInfo?: {
    readonly snapshotHandle?: string
    readonly volumeType?: string
    readonly volumeAZ?: string
    readonly iops?: string
  }
}

/** An object, with the keys that Velero's Go type gives it. */
export interface ResourceIdentifier {
  readonly Group?: string
  readonly Resource?: string
  readonly Namespace?: string
  readonly Name?: string
}

/** An asynchronous operation of a plugin: an entry of `-itemoperations.json.gz`. */
export interface ItemOperation {
  readonly spec?: {
    readonly backupItemAction?: string
    readonly restoreItemAction?: string
    readonly resourceIdentifier?: ResourceIdentifier
    readonly operationID?: string
    readonly postOperationItems?: readonly ResourceIdentifier[] | null
  }
  readonly status?: {
    readonly phase?: string
    readonly error?: string
    readonly nCompleted?: number
    readonly nTotal?: number
    readonly operationUnits?: string
    readonly description?: string
    readonly created?: string | null
    readonly started?: string | null
    readonly updated?: string | null
  }
}

/** What is known of volumes that were snapshot. */
export type SnapshotReport =
  | {
      readonly got: 'content'
      readonly native: readonly VolumeInfo[]
      readonly csi: readonly VolumeInfo[]
      /** From the files of backups before Velero 1.14, which may not tell everything. */
      readonly legacy: boolean
    }
  | {
      readonly got: 'error'
      readonly while: 'getting' | 'reading' | 'concluding native' | 'concluding CSI'
      readonly reason: string
    }

/** All that `describe` shows of a backup. Files that it does not need are undefined. */
export interface BackupDescription {
  readonly backup: Backup
  readonly deleteRequests: readonly DeleteBackupRequest[]
  /** The schedule for whose sake the backup stays after it has expired. */
  readonly keptFor: string | undefined
  readonly podVolumeBackups: readonly PodVolumeBackup[]
  readonly results: Fetched<BackupResults> | undefined
  readonly operations: Fetched<readonly ItemOperation[]> | undefined
  readonly resourceList: Fetched<ResourceList> | undefined
  readonly snapshots: SnapshotReport
  /** Whether to show things one by one. */
  readonly details: boolean
}
