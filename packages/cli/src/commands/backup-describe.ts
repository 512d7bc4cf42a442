import { backupAsJson } from '../describe/backup-as-json.ts'
import { describeBackup } from '../describe/describe-backup.ts'
import { gatherDescription } from '../describe/gather-description.ts'
import type { CommandResult } from '../output/command-result.ts'
import { goJson } from '../output/go-json.ts'
import { paintFor } from '../output/paint.ts'
import type { backupDescribeFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import { findObjects } from './object-client.ts'

type Call = CommandCall<typeof backupDescribeFlags>

/** How long each file of a backup is waited for. */
const FILE_TIMEOUT_MS = 30_000

/** `backup describe [NAMES]`: one after the other. What cannot be had is said in its place. */
export function run(call: Call): CommandResult {
  return { show: 'text', chunks: descriptions(call) }
}

async function* descriptions(call: Call): AsyncGenerator<string> {
  const { flags, args, surroundings } = call
  const { namespace, colorized } = await call.settings()
  const { signal, stdout, env } = surroundings
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const found = await findObjects(backupClient(place), args, flags.selector)
  const asJson = flags.output === 'json' && found.length === 1
  const paint = paintFor(stdout, { env, colorized })
  for (const [at, backup] of found.entries()) {
    const ports = await downloadPortsOf(call, {
      ...place,
      location: locationOf(backup),
      timeoutMs: FILE_TIMEOUT_MS,
    })
    const description = await gatherDescription(backup, ports, flags.details)
    if (asJson) yield goJson(backupAsJson(description))
    else yield `${at === 0 ? '' : '\n\n'}${describeBackup(description, paint)}`
  }
}
