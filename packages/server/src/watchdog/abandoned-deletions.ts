import type { Backup, DeleteBackupRequest } from '@lateen/api'
import type { StuckObject } from './find-stuck.ts'
import { quoted } from './finding.ts'

/**
 * Backups that are being deleted, while nobody has a request to do so. Velero forgets deletions when it is restarted, and ends them
 * after the first failure.
 */
export function abandonedDeletions(
  backups: readonly Backup[],
  requests: readonly DeleteBackupRequest[],
): StuckObject[] {
  const open = requests.filter(({ status }) => status?.phase !== 'Processed')
  const requested = new Set(open.map(({ spec }) => spec.backupName))
  return backups
    .filter(({ metadata, status }) => status?.phase === 'Deleting' && !requested.has(metadata.name ?? ''))
    .map(backup => ({
      object: backup,
      phase: 'Deleting',
      problem: 'is Deleting, and no request for its deletion is open',
      hingesOnOthers: true,
      mend: `lateen backup delete ${quoted(backup.metadata.name ?? '')} --confirm`,
    }))
}
