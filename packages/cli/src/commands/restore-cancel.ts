import { RestoreKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { watchRestore } from '../restore/watch-restore.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreCancelFlags } from '../tree/restore.ts'
import { cancelObjects } from './cancel-objects.ts'
import { restoreClient } from './restore-client.ts'

/** `restore cancel NAME...`: asks the server to stop restores. */
export function run(call: CommandCall<typeof restoreCancelFlags>): CommandResult {
  return cancelObjects(call, {
    kind: RestoreKind,
    one: 'restore',
    many: 'restores',
    open: restoreClient,
    watch: watchRestore,
  })
}
