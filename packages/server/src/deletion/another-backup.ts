import { type Backup, parseTime } from '@lateen/api'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { claimOf } from '../backup-store/claim-name.ts'
import { isDamaged } from './stored-operations.ts'

/**
 * Whether what is stored under the name of a backup is another one. When a backup began is written once, before anything of it is stored, and is
 * the same in the object and in `velero-backup.json`; syncs and deletions keep it, ours and Velero's (backup_controller.go,
 * backup_sync_controller.go). Where one of the two does not say when it began, they are taken for the same.
 */
export function isAnother(backup: Backup, stored: Backup): boolean {
  const here = beganAt(backup)
  const there = beganAt(stored)
  return here !== undefined && there !== undefined && here !== there
}

/** In whole seconds: programs in Go write no others. */
function beganAt({ status }: Backup): number | undefined {
  try {
    return status?.startTimestamp ? Math.floor(parseTime(status.startTimestamp) / 1000) : undefined
  } catch {
    return undefined
  }
}

/**
 * What has taken the name of a backup in its bucket since, in words for people: servers of other clusters delete backups there, and take new ones of the same
 * name. Undefined when what is there is the backup's own, or what an attempt to delete it has left, which begins with `velero-backup.json`. Who claims
 * the name has found nothing else there. Throws ObjectStoreError.
 */
export async function anotherOfTheName(
  backup: Backup,
  store: Pick<BackupStore, 'getMetadata' | 'hasBeside'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name = '' } = backup.metadata
  try {
    const stored = await store.getMetadata(name, signal)
    if (stored !== undefined) {
      const began = stored.status?.startTimestamp
      return isAnother(backup, stored) ? `a backup of the same name that began at ${began}` : undefined
    }
  } catch (error) {
    // It tells nothing, and no attempt would mend it.
    if (isDamaged(error)) return undefined
    throw error
  }
  const isClaimed = await store.hasBeside(claimOf(backup), 'claims', signal)
  return isClaimed ? 'a backup of the same name that another server is taking' : undefined
}
