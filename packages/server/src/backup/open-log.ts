import type { Backup } from '@lateen/api'
import { createBackupLog } from '../report/backup-log.ts'
import type { BackupLog } from '../report/report.ts'
import type { PerformPorts } from './perform-backup.ts'

/** The log of one pass over a backup, kept in a folder of scratch files; the server's log gets its lines, too. Throws ScratchError. */
export function openLog(
  { metadata }: Backup,
  scratch: string,
  { logLevel, logFormat, clock, log }: Pick<PerformPorts, 'logLevel' | 'logFormat' | 'clock' | 'log'>,
): Promise<BackupLog> {
  const fields = { backup: `${metadata.namespace}/${metadata.name}` }
  return createBackupLog({ scratch, level: logLevel, format: logFormat, clock, fields, also: log })
}
