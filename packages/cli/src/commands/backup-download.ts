import path from 'node:path'
import { saveFile } from '../download/save-file.ts'
import { streamDownload } from '../download/stream-download.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupDownloadFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { downloadPortsOf } from './download-ports-of.ts'

/** `backup download NAME`: the archive of a backup, in a file that is whole or not there. */
export async function run(call: CommandCall<typeof backupDownloadFlags>): Promise<CommandResult> {
  const name = call.args[0] ?? ''
  const { flags } = call
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const backup = await backupClient(place).get(name)
  const ports = await downloadPortsOf(call, {
    ...place,
    location: locationOf(backup),
    timeoutMs: flags.timeout.milliseconds,
  })
  const file = path.resolve(flags.output || `${name}-data.tar.gz`)
  await saveFile(streamDownload({ kind: 'BackupContents', name }, ports), { file, force: flags.force })
  return { show: 'lines', lines: [`Backup ${name} has been successfully downloaded to ${file}`] }
}
