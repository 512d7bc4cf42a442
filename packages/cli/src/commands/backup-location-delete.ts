import { BackupKind, BackupRepositoryKind, labelNames, validLabelValue } from '@lateen/api'
import type { KubeObject, ResourceType } from '@lateen/kube'
import type { CommandResult } from '../output/command-result.ts'
import type { backupLocationDeleteFlags } from '../tree/backup-location.ts'
import type { CommandCall } from '../tree/command.ts'
import { confirm } from './confirm.ts'
import { locationClient } from './location-client.ts'
import type { Place } from './object-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof backupLocationDeleteFlags>

/** What goes with a location, found by its label. */
const belongings: readonly { type: ResourceType<KubeObject>; title: string }[] = [
  { type: BackupKind, title: 'Backup' },
  { type: BackupRepositoryKind, title: 'Backup repository' },
]

/** `backup-location delete`: asks first, goes on after a failure, and reports all failures at the end. */
export function run(call: Call): CommandResult {
  requireOneWay(call, 'backup-location')
  return { show: 'lines', lines: deleteLocations(call) }
}

async function* deleteLocations(call: Call): AsyncGenerator<string> {
  const { namespace } = await call.settings()
  const { signal } = call.surroundings
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const locations = locationClient(client, namespace, signal)
  const failures: unknown[] = []
  const found = await selectObjects(locations, call, { failures })
  if (found.length === 0 && failures.length === 0) yield 'No backup-locations found'
  for (const location of found) {
    const name = location.metadata.name ?? ''
    try {
      await locations.delete(name)
      yield `Backup storage location "${name}" deleted successfully.`
      yield* deleteBelongings({ client, namespace, signal }, name, failures)
    } catch (error) {
      failures.push(error)
    }
  }
  throwFailures(failures, 'deletions')
}

async function* deleteBelongings(
  place: Place,
  location: string,
  failures: unknown[],
): AsyncGenerator<string> {
  const labelSelector = `${labelNames.storageLocation}=${validLabelValue(location)}`
  const { signal } = place
  for (const { type, title } of belongings) {
    const resource = place.client.resource(type, place.namespace)
    try {
      for await (const { metadata } of resource.list({ labelSelector, signal })) {
        const name = metadata.name ?? ''
        try {
          await resource.delete(name, { signal })
          yield `${title} associated with deleted BSL(s) "${name}" deleted successfully.`
        } catch (error) {
          failures.push(error)
        }
      }
    } catch (error) {
      failures.push(error)
    }
  }
}
