import { type Restore, RestoreKind } from '@lateen/api'
import { describeRestore } from '../describe/describe-restore.ts'
import { gatherRestoreDescription } from '../describe/gather-restore-description.ts'
import { restoreAsJson } from '../describe/restore-as-json.ts'
import type { CommandResult } from '../output/command-result.ts'
import { goJson } from '../output/go-json.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreDescribeFlags } from '../tree/restore.ts'
import { describeObjects } from './describe-objects.ts'
import { locationOfRestore, restoreClient } from './restore-client.ts'

/** `restore describe [NAMES]`: one after the other. What cannot be had is said in its place. */
export function run(call: CommandCall<typeof restoreDescribeFlags>): CommandResult {
  return describeObjects<Restore>(call, {
    kind: RestoreKind,
    open: restoreClient,
    locationOf: locationOfRestore,
    async describe(restore, { ports, paint, format }) {
      const description = await gatherRestoreDescription(restore, ports, call.flags.details)
      return format === 'json' ? goJson(restoreAsJson(description)) : describeRestore(description, paint)
    },
  })
}
