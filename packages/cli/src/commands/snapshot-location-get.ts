import { VolumeSnapshotLocationKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { snapshotLocationColumns } from '../output/snapshot-location-columns.ts'
import type { CommandCall } from '../tree/command.ts'
import type { snapshotLocationGetFlags } from '../tree/snapshot-location.ts'
import { findObjects } from './object-client.ts'
import { objectsResult } from './objects-result.ts'
import { snapshotLocationClient } from './snapshot-location-client.ts'

/** `snapshot-location get [NAMES]`: the named locations, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof snapshotLocationGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  return objectsResult(VolumeSnapshotLocationKind, {
    objects: await findObjects(snapshotLocationClient({ client, namespace, signal }), args, flags.selector),
    columns: snapshotLocationColumns,
    flags,
  })
}
