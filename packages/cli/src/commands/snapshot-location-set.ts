import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { snapshotLocationSetFlags } from '../tree/snapshot-location.ts'
import { credentialOf } from './credential-flag.ts'
import { snapshotLocationClient } from './snapshot-location-client.ts'

/** `snapshot-location set NAME`: changes only what flags name. */
export async function run(call: CommandCall<typeof snapshotLocationSetFlags>): Promise<CommandResult> {
  const name = call.args[0] ?? ''
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  const credential = credentialOf(call.flags.credential)
  await using client = await call.connect()
  const body = { spec: { ...(credential !== undefined && { credential }) } }
  await snapshotLocationClient({ client, namespace, signal }).patch(name, { type: 'merge', body })
  return { show: 'lines', lines: [`Volume snapshot location "${name}" configured successfully.`] }
}
