import type { Restore } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { streamDownload } from '../download/stream-download.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreLogsFlags } from '../tree/restore.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import { locationOfRestore, restoreClient } from './restore-client.ts'

type Call = CommandCall<typeof restoreLogsFlags>

/** The log is in the bucket in these phases. */
const phasesWithLog: readonly string[] = [
  'Completed',
  'PartiallyFailed',
  'Failed',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
]

/** `restore logs NAME`: the log as it is stored. */
export function run(call: Call): CommandResult {
  return { show: 'text', chunks: log(call) }
}

async function* log(call: Call): AsyncGenerator<Uint8Array> {
  const name = call.args[0] ?? ''
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const restore = await restoreClient(place).get(name)
  requireLog(restore)
  const timeoutMs = call.flags.timeout.milliseconds
  const location = locationOfRestore(restore, place)
  const ports = await downloadPortsOf(call, { ...place, location, timeoutMs })
  yield* streamDownload({ kind: 'RestoreLog', name }, ports)
}

function requireLog({ metadata, status }: Restore): void {
  if (phasesWithLog.includes(status?.phase ?? '')) return
  throw new CliError(
    'REFUSED',
    `logs for restore "${metadata.name}" are not available until it's finished processing, and it is ${status?.phase || 'New'}`,
    { hint: `'lateen restore describe ${metadata.name}' shows how far it is` },
  )
}
