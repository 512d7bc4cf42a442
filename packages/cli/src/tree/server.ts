import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

const unused = 'Accepted; nothing in this version uses it.'

/** Velero's server flags with its defaults. */
export const serverFlags = {
  'backup-repository-configmap': { type: 'string', help: `ConfigMap with settings of backup repositories. ${unused}` },
} as const satisfies FlagSet

export const serverCommand: CommandSpec = command({
  name: 'server',
  summary: 'Run the server',
  args: noArguments,
  flags: serverFlags,
  load: () => import('../commands/server.ts'),
})
