import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { backupLocationColumns } from '../output/backup-location-columns.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupLocationGetFlags } from '../tree/backup-location.ts'
import type { CommandCall } from '../tree/command.ts'
import { type LocationClient, locationClient } from './location-client.ts'
import { objectsResult } from './objects-result.ts'

/** `backup-location get [NAMES]`: the named locations, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof backupLocationGetFlags>): Promise<CommandResult> {
  const { flags } = call
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const found = await find(locationClient(client, namespace, call.surroundings.signal), call)
  return objectsResult(BackupStorageLocationKind, {
    objects: flags.default ? found.filter(location => location.spec.default) : found,
    columns: backupLocationColumns,
    flags,
  })
}

async function find(
  locations: LocationClient,
  { args, flags }: CommandCall<typeof backupLocationGetFlags>,
): Promise<BackupStorageLocation[]> {
  if (args.length === 0) return locations.list(flags.selector)
  const found: BackupStorageLocation[] = []
  for (const name of args) found.push(await locations.get(name))
  return found
}
