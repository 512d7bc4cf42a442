import type { Backup } from '@lateen/api'
import type { Clock, Logger } from '@lateen/kube'
import type { BackupItemAction, ItemBlockAction } from '@lateen/plugin'
import type { ActionTable } from '../../item/resolve-actions.ts'
import type { BackupOperation } from '../../operations/backup-operation.ts'
import type { BegunOperations } from '../../operations/operation-journal.ts'
import type { ArchiveWriter } from '../archive/archive.ts'
import type { VolumeWork } from '../volumes/volume-work.ts'
import type { Inclusion } from './inclusion.ts'
import type { ItemRecord } from './item-record.ts'
import type { ItemSource } from './item-source.ts'

/** What becomes of the volumes that items have to do with. */
export type ItemVolumes = Pick<
  VolumeWork,
  | 'planPod'
  | 'backUpPod'
  | 'releasePod'
  | 'podEnded'
  | 'backUpVolume'
  | 'decideClaim'
  | 'leaveOut'
  | 'claimTaken'
  | 'claimCut'
>

/** What all items of one running backup share. */
export interface ItemRun {
  readonly backup: Backup
  readonly log: Logger
  readonly clock: Clock
  readonly source: ItemSource
  readonly inclusion: Inclusion
  readonly record: ItemRecord
  readonly itemActions: ActionTable<BackupItemAction>
  readonly blockActions: ActionTable<ItemBlockAction>
  readonly volumes: ItemVolumes
  readonly archive: Pick<ArchiveWriter, 'add'>
  /** Operations that actions began. */
  readonly operations: BegunOperations<BackupOperation>
  /** The feature `EnableCSI`. */
  readonly csiEnabled: boolean
}
