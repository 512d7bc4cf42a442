import type { Backup, Restore } from '@lateen/api'
import type { Clock, Discovery, Logger } from '@lateen/kube'
import type { ActionItem, Registered, RestoreItemAction } from '@lateen/plugin'
import type { ResourcePolicies } from '../filters/policies/resource-policies.ts'
import type { GroupResource } from '../item/item.ts'
import type { BegunOperations } from '../operations/operation-journal.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { Results } from '../report/report.ts'
import type { ResourceList } from '../report/resource-list.ts'
import type { BlockWorkers } from '../workers/block-workers.ts'
import type { BackupArchive } from './archive/backup-archive.ts'
import type { RestoredItem, RestoredObject } from './items/restored-item.ts'
import type { Priorities } from './order/priorities.ts'
import type { VersionPriorities } from './order/version-priorities.ts'
import type { RestoreSink } from './sink/sink.ts'
import type { BackedUpVolumes, RestoreVolumeInfo, VolumeRestore } from './volumes/volume-restore.ts'

/** A restore that was found valid and has its defaults, with what it reads besides the archive. */
export interface RestoreRequest {
  restore: Restore
  backup: Backup
  /** What the restore's resource policy says, if it has one. */
  policies?: ResourcePolicies | undefined
  volumes: BackedUpVolumes
  /** In which order types are restored. */
  priorities: Priorities
  /** Which versions the user prefers, where the archive has several and `EnableAPIGroupVersions` is on. */
  versionPriorities?: VersionPriorities | undefined
  /** Enabled features, such as `EnableCSI` and `EnableAPIGroupVersions`. */
  features?: ReadonlySet<string> | undefined
}

/** An object that resource modifiers may change. */
export interface ItemToModify {
  item: ActionItem
  groupResource: GroupResource
  /** Before it is mapped. */
  namespace: string
}

/** How long a restore waits, in milliseconds. */
export interface RestoreTimeouts {
  /** For definitions to be served, and for what actions wait for. */
  resource: number
  /** For namespaces and volumes that are being deleted. */
  terminating: number
}

/** How far a restore has come. */
export interface RestoreProgress {
  itemsRestored: number
  /** An estimate until the end: labels are looked at as items come up, and actions bring items along. */
  totalItems: number
}

/** Everything that a restore touches. A controller, a plan and a command on a laptop each bring their own. */
export interface RestorePorts {
  archive: BackupArchive
  sink: RestoreSink
  discovery: Discovery
  clock: Clock
  /** Random and unique, for volumes that get new names. */
  newUid(): string
  /** The restore's own log. What it says as warnings and errors is in the outcome, too. */
  log: Logger
  /** In the order in which they run. */
  actions: readonly Registered<RestoreItemAction>[]
  /** The rules of the restore's resource modifiers. */
  modify?(item: ItemToModify): { item: ActionItem; errors: readonly Error[] }
  volumes: VolumeRestore
  /** Hears of every pod that was created, as the cluster has it: exec hooks begin here, and must not be waited for. */
  onPodRestored?(pod: ActionItem): void
  /** How many items are restored side by side; one worker keeps Velero's order. */
  workers: BlockWorkers
  timeouts: RestoreTimeouts
  /** Takes the operations that actions begin. By default they are kept in memory. */
  operations?: BegunOperations<RestoreOperation>
  /** Hears of every item that is done; thousands of times a second, if the cluster is fast. */
  onItem?(restored: RestoredObject): void
  onProgress?(progress: RestoreProgress): void
}

/** A claim that a restore created, for whoever looks after its volume later. */
export interface RestoredClaim {
  /** Where it is now. */
  namespace: string
  name: string
  /** The namespace that it had. */
  sourceNamespace: string
  /** The volume that it had, if any. */
  volumeName: string
  /** A volume is provisioned anew, so that the properties of the old one are to be given to it. */
  provisioned: boolean
}

/** What came of a restore. */
export interface RestoreOutcome {
  progress: RestoreProgress
  /** Every object that came up, by type, namespace and name. */
  items(): Iterable<RestoredItem>
  /** `restore-<name>-results.gz`. */
  results: Results
  warnings: number
  errors: number
  /** `restore-<name>-resource-list.json.gz`. */
  resourceList: ResourceList
  /** Those that actions have begun, as they were then. */
  operations: readonly RestoreOperation[]
  restoredClaims: RestoredClaim[]
  /** What is known now for `restore-<name>-volumeinfo.json.gz`: native snapshots and pod volumes. */
  volumeInfo: RestoreVolumeInfo[]
}
