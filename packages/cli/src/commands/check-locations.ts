import type { backupSpecFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import type { FlagValues } from '../tree/flag.ts'
import { locationClient } from './location-client.ts'
import { snapshotLocationClient } from './snapshot-location-client.ts'

type LocationFlags = Pick<
  FlagValues<typeof backupSpecFlags>,
  'storage-location' | 'volume-snapshot-locations'
>

/** Throws a CliError if a location that the flags name does not exist. Connects only if they name one. */
export async function checkLocations(
  call: Pick<CommandCall, 'settings' | 'connect' | 'surroundings'> & { flags: LocationFlags },
): Promise<void> {
  const { flags, surroundings } = call
  const snapshotLocations = flags['volume-snapshot-locations']
  if (!flags['storage-location'] && snapshotLocations.length === 0) return
  const { signal } = surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  if (flags['storage-location']) {
    await locationClient(client, namespace, signal).get(flags['storage-location'])
  }
  for (const name of snapshotLocations) await snapshotLocationClient({ client, namespace, signal }).get(name)
}
