import type { Backup } from '@lateen/api'
import { isSynced } from './synced-annotation.ts'

/**
 * Whether a backup goes from the cluster once its folder has gone from the bucket of the location. Others have no folder yet, or
 * never had one: a backup that failed here is for its user to see, one that failed elsewhere came with its folder.
 */
export function goesWithFolder(backup: Backup, location: string): boolean {
  const { metadata, spec, status } = backup
  if (spec.storageLocation !== location || metadata.deletionTimestamp !== undefined) return false
  const phase = status?.phase
  return phase === 'Completed' || phase === 'PartiallyFailed' || (phase === 'Failed' && isSynced(backup))
}
