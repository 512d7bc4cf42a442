import type { Backup } from '@lateen/api'
import type { DownloadPorts } from '../download/download-ports.ts'
import { downloadTrust } from '../download/download-trust.ts'
import type { CommandCall } from '../tree/command.ts'
import type { downloadFlags } from '../tree/download-flags.ts'
import type { Place } from './object-client.ts'

/** What downloads of a backup's files need, from the flags of a command. Throws a CliError for an unreadable `--cacert`. */
export async function downloadPortsOf(
  backup: Backup,
  call: Pick<CommandCall<typeof downloadFlags>, 'flags' | 'settings' | 'surroundings'>,
  { timeoutMs, ...place }: Place & { readonly timeoutMs: number },
): Promise<DownloadPorts & { readonly warn: (message: string) => void }> {
  const { clock, env, stderr } = call.surroundings
  const warn = (message: string) => void stderr.write(`${message}\n`)
  const cacert = call.flags.cacert ?? (await call.settings()).cacert
  const insecure = call.flags['insecure-skip-tls-verify']
  const trust = await downloadTrust(backup, { cacert, insecure, warn }, place)
  return { ...place, clock, env, trust, timeoutMs, warn }
}
