import { apiVersionOf, type VolumeSnapshotLocation, VolumeSnapshotLocationKind } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import { snapshotLocationColumns } from '../output/snapshot-location-columns.ts'
import type { CommandCall } from '../tree/command.ts'
import type { snapshotLocationCreateFlags } from '../tree/snapshot-location.ts'
import { credentialOf } from './credential-flag.ts'
import { objectsResult } from './objects-result.ts'
import { snapshotLocationClient } from './snapshot-location-client.ts'

type Call = CommandCall<typeof snapshotLocationCreateFlags>

/** `snapshot-location create NAME`: sends the location to the cluster, or with `-o` shows it instead. */
export async function run(call: Call): Promise<CommandResult> {
  const { flags } = call
  const { namespace } = await call.settings()
  const location = newLocation(call, namespace)
  if (flags.output !== undefined) {
    return objectsResult(VolumeSnapshotLocationKind, {
      objects: [location],
      columns: snapshotLocationColumns,
      flags,
    })
  }
  await using client = await call.connect()
  const { signal } = call.surroundings
  const { metadata } = await snapshotLocationClient({ client, namespace, signal }).create(location)
  return { show: 'lines', lines: [`Snapshot volume location "${metadata.name}" configured successfully.`] }
}

function newLocation({ args, flags }: Call, namespace: string): VolumeSnapshotLocation {
  const { provider, labels, config } = flags
  if (!provider) {
    throw new CliError('USAGE', '--provider is required', {
      hint: "run 'lateen snapshot-location create --help' for all flags",
    })
  }
  const credential = credentialOf(flags.credential)
  return {
    apiVersion: apiVersionOf(VolumeSnapshotLocationKind),
    kind: VolumeSnapshotLocationKind.kind,
    metadata: { name: args[0] ?? '', namespace, ...(Object.keys(labels).length > 0 && { labels }) },
    spec: {
      provider,
      ...(Object.keys(config).length > 0 && { config }),
      ...(credential !== undefined && { credential }),
    },
  }
}
