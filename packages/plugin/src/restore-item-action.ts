import type { PodVolumeBackup, Restore } from '@lateen/api'
import type { ActionItem, OperationProgress, ResourceIdentifier, ResourceSelector } from './item-actions.ts'

/** Other objects of the backup that is restored, as they are in it. */
export interface BackedUpObjects {
  /** Undefined when it is not in the backup. Throws when it cannot be read. */
  read(id: ResourceIdentifier): Promise<ActionItem | undefined>
  list(type: Pick<ResourceIdentifier, 'group' | 'resource'>): AsyncIterable<ActionItem>
}

/** What a restore item action is called with. `item` may be changed and returned. */
export interface RestoreActionInput {
  /** As it would be restored now: after what earlier actions did, before the namespace is mapped. */
  item: ActionItem
  /** As it is in the backup, status included. */
  itemFromBackup: ActionItem
  restore: Restore
  /** Only actions in the server itself have it. */
  backedUp?: BackedUpObjects | undefined
  /** Of the whole backup, as the restore itself goes by them. Only actions in the server itself have them. */
  podVolumeBackups?: readonly PodVolumeBackup[] | undefined
  signal?: AbortSignal | undefined
}

/** What a restore item action answers. */
export interface RestoreItemResult {
  item: ActionItem
  /** Leaves the object out, without an error. */
  skip?: boolean
  /** Objects of the backup that must be restored first. */
  additionalItems?: readonly ResourceIdentifier[]
  /** Names long work that goes on after the call. */
  operationId?: string
  /** The object is created only after `areAdditionalItemsReady` said yes. */
  waitForAdditionalItems?: boolean
  /** How long to wait for them, in milliseconds; the server's resource timeout when absent or 0. */
  additionalItemsReadyTimeout?: number
}

/** Asks whether what an action waits for is there. */
export interface AdditionalItemsInput {
  additionalItems: readonly ResourceIdentifier[]
  restore: Restore
  signal?: AbortSignal | undefined
}

/** An operation of a restore action, by the id that `execute` returned. */
export interface RestoreOperationInput {
  operationId: string
  restore: Restore
  signal?: AbortSignal | undefined
}

/** Takes part in restoring objects: changes them, skips them, names others that must come first, starts long work. */
export interface RestoreItemAction {
  appliesTo(): Promise<ResourceSelector>
  execute(input: RestoreActionInput): Promise<RestoreItemResult>
  /** Absent: they are ready when they are created. */
  areAdditionalItemsReady?(input: AdditionalItemsInput): Promise<boolean>
  progress?(input: RestoreOperationInput): Promise<OperationProgress>
  cancel?(input: RestoreOperationInput): Promise<void>
}
