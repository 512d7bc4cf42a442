import type { BackupActionInput, ResourceSelector } from './item-actions.ts'

/** Cleans up outside of the cluster and the bucket what belongs to an object of a backup, when the backup is deleted. */
export interface DeleteItemAction {
  appliesTo(): Promise<ResourceSelector>
  /** `item` is as it was backed up. An error is logged and does not stop the deletion. */
  execute(input: BackupActionInput): Promise<void>
}
