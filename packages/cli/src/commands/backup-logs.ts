import type { Backup } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { streamDownload } from '../download/stream-download.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupLogsFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { downloadPortsOf } from './download-ports-of.ts'

type Call = CommandCall<typeof backupLogsFlags>

/** The log is in the bucket from here on. */
const phasesWithLog: readonly string[] = [
  'Completed',
  'PartiallyFailed',
  'Failed',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
]

/** `backup logs NAME`: the log as it is stored. */
export function run(call: Call): CommandResult {
  return { show: 'text', chunks: log(call) }
}

async function* log(call: Call): AsyncGenerator<Uint8Array> {
  const name = call.args[0] ?? ''
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const backup = await backupClient(place).get(name)
  requireLog(backup)
  const timeoutMs = call.flags.timeout.milliseconds
  const ports = await downloadPortsOf(call, { ...place, location: locationOf(backup), timeoutMs })
  yield* streamDownload({ kind: 'BackupLog', name }, ports)
}

function requireLog({ metadata, status }: Backup): void {
  if (phasesWithLog.includes(status?.phase ?? '')) return
  throw new CliError(
    'REFUSED',
    `logs for backup "${metadata.name}" are not available until it's finished processing, and it is ${status?.phase || 'New'}`,
    { hint: `'lateen backup describe ${metadata.name}' shows how far it is` },
  )
}
