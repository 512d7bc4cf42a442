import { CliError } from '../cli-error.ts'
import type { CommandCall } from '../tree/command.ts'
import type { serverFlags } from '../tree/server.ts'

/**
 * `run-plugins`: a Velero server calls this of itself, for its built-in plugins. Ours has no use for it, and another server that
 * was served them would meet names that it has already. Always throws a CliError.
 */
export function run(_call: CommandCall<typeof serverFlags>): never {
  throw new CliError('REFUSED', 'the built-in plugins of Lateen run inside of its server and nowhere else', {
    hint: "'lateen plugin get' lists them; docs/plugins.md tells how to write others",
  })
}
