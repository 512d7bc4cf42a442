import type { Backup, DeleteBackupRequest } from '@lateen/api'
import { lacksVolumes } from './synced-annotation.ts'

export interface NameFacts {
  /** The location whose bucket has the name. */
  location: string
  /** The backup of that name in the cluster. */
  backup: Backup | undefined
  /** Whether somebody asked for the deletion of a backup of that name and has not got it. */
  isDeletionRequested: boolean
}

export type NameStep =
  | { type: 'read' }
  /** The backup is here, but not all that belongs to it. */
  | { type: 'complete'; backup: Backup }
  | { type: 'leave' }
  /** The name is taken by a backup of another location. */
  | { type: 'conflict'; with: string }

/** What to do about a name in the bucket. */
export function decideName({ location, backup, isDeletionRequested }: NameFacts): NameStep {
  if (backup === undefined) return { type: isDeletionRequested ? 'leave' : 'read' }
  const { storageLocation } = backup.spec
  if (storageLocation && storageLocation !== location) return { type: 'conflict', with: storageLocation }
  const isGoing = backup.metadata.deletionTimestamp !== undefined || backup.status?.phase === 'Deleting'
  return lacksVolumes(backup) && !isGoing && !isDeletionRequested
    ? { type: 'complete', backup }
    : { type: 'leave' }
}

/** Whether a request for a deletion has not been carried out, nor given up. */
export function isOpenRequest({ status }: DeleteBackupRequest): boolean {
  return status?.phase !== 'Processed'
}
