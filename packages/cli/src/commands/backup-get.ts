import { BackupKind } from '@lateen/api'
import { backupColumns, sortedBackups } from '../output/backup-columns.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupGetFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient } from './backup-client.ts'
import { findObjects } from './object-client.ts'
import { objectsResult } from './objects-result.ts'

/** `backup get [NAMES]`: the named backups, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof backupGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal, clock } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const found = await findObjects(backupClient({ client, namespace, signal }), args, flags.selector)
  return objectsResult(BackupKind, {
    objects: flags.output === 'table' ? sortedBackups(found) : found,
    columns: backupColumns(clock.now()),
    flags,
  })
}
