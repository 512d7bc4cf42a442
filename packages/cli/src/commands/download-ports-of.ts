import type { DownloadPorts } from '../download/download-ports.ts'
import { downloadTrust } from '../download/download-trust.ts'
import type { CommandCall } from '../tree/command.ts'
import type { downloadFlags } from '../tree/download-flags.ts'
import type { Place } from './object-client.ts'

/** Where and how long a command downloads. */
export interface DownloadScene extends Place {
  readonly timeoutMs: number
  /** The backup location of the files, if it is known. */
  readonly location: () => Promise<string | undefined>
}

/** What downloads need, from the flags of a command. Throws a CliError for an unreadable `--cacert`. */
export async function downloadPortsOf(
  call: Pick<CommandCall<typeof downloadFlags>, 'flags' | 'settings' | 'surroundings'>,
  { timeoutMs, location, ...place }: DownloadScene,
): Promise<DownloadPorts & { readonly warn: (message: string) => void }> {
  const { clock, env, stderr } = call.surroundings
  const warn = (message: string) => void stderr.write(`${message}\n`)
  const cacert = call.flags.cacert ?? (await call.settings()).cacert
  const insecure = call.flags['insecure-skip-tls-verify']
  const trust = await downloadTrust({ cacert, insecure, location, warn }, place)
  return { ...place, clock, env, trust, timeoutMs, warn }
}
