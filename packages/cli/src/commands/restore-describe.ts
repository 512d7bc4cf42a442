import { describeRestore } from '../describe/describe-restore.ts'
import { gatherRestoreDescription } from '../describe/gather-restore-description.ts'
import { restoreAsJson } from '../describe/restore-as-json.ts'
import type { CommandResult } from '../output/command-result.ts'
import { goJson } from '../output/go-json.ts'
import { paintFor } from '../output/paint.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreDescribeFlags } from '../tree/restore.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import { findObjects } from './object-client.ts'
import { locationOfRestore, restoreClient } from './restore-client.ts'

type Call = CommandCall<typeof restoreDescribeFlags>

/** How long each file of a restore is waited for. */
const FILE_TIMEOUT_MS = 30_000

/** `restore describe [NAMES]`: one after the other. What cannot be had is said in its place. */
export function run(call: Call): CommandResult {
  return { show: 'text', chunks: descriptions(call) }
}

async function* descriptions(call: Call): AsyncGenerator<string> {
  const { flags, args, surroundings } = call
  const { namespace, colorized } = await call.settings()
  const { signal, stdout, env } = surroundings
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const found = await findObjects(restoreClient(place), args, flags.selector)
  const asJson = flags.output === 'json' && found.length === 1
  const paint = paintFor(stdout, { env, colorized })
  for (const [at, restore] of found.entries()) {
    const location = locationOfRestore(restore, place)
    const ports = await downloadPortsOf(call, { ...place, location, timeoutMs: FILE_TIMEOUT_MS })
    const description = await gatherRestoreDescription(restore, ports, flags.details)
    if (asJson) yield goJson(restoreAsJson(description))
    else yield `${at === 0 ? '' : '\n\n'}${describeRestore(description, paint)}`
  }
}
