import { type Backup, BackupKind } from '@lateen/api'
import { backupAsJson } from '../describe/backup-as-json.ts'
import { describeBackup } from '../describe/describe-backup.ts'
import { gatherDescription } from '../describe/gather-description.ts'
import type { CommandResult } from '../output/command-result.ts'
import { goJson } from '../output/go-json.ts'
import type { backupDescribeFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { describeObjects } from './describe-objects.ts'

/** `backup describe [NAMES]`: one after the other. What cannot be had is said in its place. */
export function run(call: CommandCall<typeof backupDescribeFlags>): CommandResult {
  return describeObjects<Backup>(call, {
    kind: BackupKind,
    open: backupClient,
    locationOf,
    async describe(backup, { ports, paint, format }) {
      const description = await gatherDescription(backup, ports, call.flags.details)
      return format === 'json' ? goJson(backupAsJson(description)) : describeBackup(description, paint)
    },
  })
}
