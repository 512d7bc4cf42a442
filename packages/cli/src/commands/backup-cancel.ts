import { BackupKind } from '@lateen/api'
import { watchBackup } from '../backup/watch-backup.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupCancelFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient } from './backup-client.ts'
import { cancelObjects } from './cancel-objects.ts'

/** `backup cancel NAME...`: asks the server to stop backups. */
export function run(call: CommandCall<typeof backupCancelFlags>): CommandResult {
  return cancelObjects(call, {
    kind: BackupKind,
    one: 'backup',
    many: 'backups',
    open: backupClient,
    watch: watchBackup,
  })
}
