import { RestoreKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { restoreColumns } from '../output/restore-columns.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreGetFlags } from '../tree/restore.ts'
import { findObjects } from './object-client.ts'
import { objectsResult } from './objects-result.ts'
import { restoreClient } from './restore-client.ts'

/** `restore get [NAMES]`: the named restores, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof restoreGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  return objectsResult(RestoreKind, {
    objects: await findObjects(restoreClient({ client, namespace, signal }), args, flags.selector),
    columns: restoreColumns,
    flags,
  })
}
