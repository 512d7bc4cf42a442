import { type Backup, lateenAnnotation, type Restore } from '@lateen/api'
import type { ActionItem, BackedUpObjects, OperationProgress, ResourceIdentifier } from '@lateen/plugin'
import type { VolumeSnapshot } from './snapshot-kinds.ts'

/** On DataDownloads: by which label the claim selects its volume that is to be filled. Those that Velero began have none. */
export const targetSelectorAnnotation = lateenAnnotation('target-selector')

/** A snapshot whose content is to be moved into the repository. */
export interface SnapshotToUpload {
  backup: Backup
  claim: ActionItem
  snapshot: VolumeSnapshot
  snapshotClass: string
  driver: string
}

/** Has the contents of snapshots moved into the repository, by DataUploads. An operation is known by its id alone, to any server. */
export interface DataUploads {
  /** Creates the DataUpload, or finds the one that was created for the claim before. */
  start(
    request: SnapshotToUpload,
    signal?: AbortSignal,
  ): Promise<{ operationId: string; dataUpload: ResourceIdentifier }>
  progress(
    operation: { operationId: string; backup: Backup },
    signal?: AbortSignal,
  ): Promise<OperationProgress>
  cancel(operation: { operationId: string; backup: Backup }, signal?: AbortSignal): Promise<void>
}

/** A claim whose volume is to be filled from the repository. */
export interface ClaimToDownload {
  restore: Restore
  /** As it will be created, in its new namespace. */
  claim: ActionItem
  /** As it was backed up. */
  claimFromBackup: ActionItem
  backedUp: BackedUpObjects
}

/** Has volumes filled from the repository, by DataDownloads. */
export interface DataDownloads {
  /** Undefined when the content of this claim was not moved. The claim comes back as it must be created to get the volume when that is filled. */
  start(
    request: ClaimToDownload,
    signal?: AbortSignal,
  ): Promise<{ operationId: string; claim: ActionItem } | undefined>
  progress(
    operation: { operationId: string; restore: Restore },
    signal?: AbortSignal,
  ): Promise<OperationProgress>
  cancel(operation: { operationId: string; restore: Restore }, signal?: AbortSignal): Promise<void>
}
