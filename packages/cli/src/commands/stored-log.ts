import { CliError } from '../cli-error.ts'
import type { DownloadTarget } from '../download/download-ports.ts'
import { streamDownload } from '../download/stream-download.ts'
import type { CommandCall } from '../tree/command.ts'
import type { logsFlags } from '../tree/object-flags.ts'
import { downloadPortsOf } from './download-ports-of.ts'
import type { Place } from './object-client.ts'

/** What has a log: a backup or a restore. */
export interface LoggedObject {
  readonly phase: string | undefined
  /** The backup location of its files, if it is known. */
  readonly location: () => Promise<string | undefined>
}

/** A kind of object with a log in the bucket. */
export interface LoggedKind {
  readonly noun: 'backup' | 'restore'
  readonly target: DownloadTarget['kind']
  /** In these phases the log is in the bucket. */
  readonly phasesWithLog: readonly string[]
  /** Throws a CliError for a name that does not exist. */
  find(name: string, place: Place): Promise<LoggedObject>
}

/** The log of the object that the first argument names, as it is stored. Throws a CliError while there is none. */
export async function* storedLog(
  call: CommandCall<typeof logsFlags>,
  { noun, target, phasesWithLog, find }: LoggedKind,
): AsyncGenerator<Uint8Array> {
  const name = call.args[0] ?? ''
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const { phase, location } = await find(name, place)
  if (!phasesWithLog.includes(phase ?? '')) {
    throw new CliError(
      'REFUSED',
      `logs for ${noun} "${name}" are not available until it's finished processing, and it is ${phase || 'New'}`,
      { hint: `'lateen ${noun} describe ${name}' shows how far it is` },
    )
  }
  const timeoutMs = call.flags.timeout.milliseconds
  const ports = await downloadPortsOf(call, { ...place, location, timeoutMs })
  yield* streamDownload({ kind: target, name }, ports)
}
