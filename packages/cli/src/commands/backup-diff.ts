import type { Backup } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { type DifferenceFormat, printDifferences } from '../diff/print-differences.ts'
import { streamDownload } from '../download/stream-download.ts'
import type { CommandResult } from '../output/command-result.ts'
import { paintFor } from '../output/paint.ts'
import type { backupDiffFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import type { Place } from './object-client.ts'

type Call = CommandCall<typeof backupDiffFlags>

/** `backup diff NAME [LATER]`: what changed between two backups, or with `--live` since one. */
export function run(call: Call): CommandResult {
  const { args, flags } = call
  if ((args.length === 2) === flags.live) {
    throw new CliError('USAGE', 'either a second backup or --live must be given, but not both')
  }
  const counts = { added: 0, removed: 0, changed: 0 }
  const differ = () => counts.added + counts.removed + counts.changed > 0
  return {
    show: 'text',
    chunks: differences(call, counts),
    exitCode: () => (flags['exit-code'] && differ() ? 1 : 0),
  }
}

async function* differences(
  call: Call,
  counts: { added: number; removed: number; changed: number },
): AsyncGenerator<string> {
  const { flags, args, surroundings } = call
  const { clock, signal, stdout, stderr, env } = surroundings
  const { namespace, colorized } = await call.settings()
  const [name = '', later] = args
  await using client = await call.connect()
  const place = { client, namespace, signal }
  const backups = backupClient(place)
  const before = finished(await backups.get(name))
  const after = later === undefined ? 'live' : finished(await backups.get(later))
  const format = flags.output as DifferenceFormat
  const { diffBackups } = await import('@lateen/server')
  const found = diffBackups(
    {
      ...{ client, clock, namespace, before, after },
      contents: backup => contentsOf(backup, call, place),
      withStatus: flags['with-status'],
      detail: format === 'diff' ? 'diff' : 'fields',
      showSecrets: flags['show-secrets'],
      onNote: note => void stderr.write(`${note}\n`),
    },
    signal,
  )
  const sides = { before: name, after: later ?? 'the cluster' }
  yield* printDifferences(found, { format, paint: paintFor(stdout, { env, colorized }), sides, counts })
}

const withArchive: ReadonlySet<string> = new Set([
  'Completed',
  'PartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
])

function finished(backup: Backup): Backup {
  const phase = backup.status?.phase ?? 'New'
  if (withArchive.has(phase)) return backup
  throw new CliError(
    'REFUSED',
    `backup "${backup.metadata.name}" is in the phase ${phase} and has no archive`,
    {
      hint: 'compare backups that have come to their end',
    },
  )
}

async function* contentsOf(backup: Backup, call: Call, place: Place): AsyncGenerator<Uint8Array> {
  const timeoutMs = call.flags.timeout.milliseconds
  const ports = await downloadPortsOf(call, { ...place, location: locationOf(backup), timeoutMs })
  yield* streamDownload({ kind: 'BackupContents', name: backup.metadata.name ?? '' }, ports)
}
