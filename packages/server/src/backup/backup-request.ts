import type { Backup, HookStatus, PodVolumeBackup } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { BackupItemAction, ItemBlockAction, Registered } from '@lateen/plugin'
import type { ResourcePolicies } from '../filters/policies/resource-policies.ts'
import type { BackupScope } from '../filters/scope.ts'
import type { CollectedItems } from '../item/item.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import type { BegunOperations } from '../operations/operation-journal.ts'
import type { ResourceList } from '../report/resource-list.ts'
import type { SkippedVolume } from '../volumes/skipped-volumes.ts'
import type { NativeSnapshot, VolumeBackup } from '../volumes/volume-backup.ts'
import type { VolumeInfo } from '../volumes/volume-info.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import type { ArchiveWriter, FinishedArchive } from './archive/archive.ts'
import type { ItemProgress } from './items/item-record.ts'

/** A backup that was found valid and has its defaults, as `prepareBackup` returns it. */
export interface BackupRequest {
  backup: Backup
  policies?: ResourcePolicies | undefined
  /** Enabled features, such as `EnableCSI` and `EnableAPIGroupVersions`. */
  features?: ReadonlySet<string> | undefined
}

/** How far a backup has come. */
export interface BackupProgress extends ItemProgress {
  /** What is being worked on. */
  current: { resource: string; namespace: string; name: string }
}

/** Everything that a backup touches. A controller and a command on a laptop each bring their own. */
export interface BackupPorts {
  client: KubeClient
  clock: Clock
  /** The backup's own log: its warnings and errors are the backup's. */
  log: Logger
  /** Finds the objects of the backup, usually with `collectItems`. */
  collect(scope: BackupScope, signal: AbortSignal): Promise<CollectedItems>
  /** Empty and open; it is finished when the backup is, and disposed of by who made it. */
  archive: ArchiveWriter
  /** In the order in which they run. */
  backupItemActions: readonly Registered<BackupItemAction>[]
  itemBlockActions: readonly Registered<ItemBlockAction>[]
  volumes: VolumeBackup
  workers: BlockWorkers
  /** Takes the operations that begin. Absent: they are kept in memory. */
  operations?: BegunOperations<BackupOperation>
  /** Hears of every piece of work that ended; thousands of times a second, if the cluster is fast. */
  onProgress?(progress: BackupProgress): void
}

/** What a backup holds. Warnings and errors are in the log it was given. */
export interface BackupOutcome {
  archive: FinishedArchive
  /** `totalItems` counts what could not be stored, too. */
  progress: ItemProgress
  resourceList: ResourceList
  /** `-itemoperations.json.gz`. */
  operations: readonly BackupOperation[]
  hookStatus: Required<HookStatus>
  /** `-volumeinfo.json.gz`. */
  volumeInfo: VolumeInfo[]
  /** `-volumesnapshots.json.gz`. */
  volumeSnapshots: NativeSnapshot[]
  /** `-podvolumebackups.json.gz`. */
  podVolumeBackups: PodVolumeBackup[]
  /** Volumes whose data are not in the backup, and why. */
  skippedVolumes: SkippedVolume[]
}
