import { apiVersionOf, RestoreKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { restoreColumns } from '../output/restore-columns.ts'
import { labelColumns } from '../output/table.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreGetFlags } from '../tree/restore.ts'
import { findObjects } from './object-client.ts'
import { restoreClient } from './restore-client.ts'

/** `restore get [NAMES]`: the named restores, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof restoreGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  return {
    show: 'objects',
    format: flags.output === 'json' || flags.output === 'yaml' ? flags.output : 'table',
    listKind: { apiVersion: apiVersionOf(RestoreKind), kind: `${RestoreKind.kind}List` },
    objects: await findObjects(restoreClient({ client, namespace, signal }), args, flags.selector),
    columns: [...restoreColumns, ...labelColumns(flags['label-columns'], flags['show-labels'])],
  }
}
