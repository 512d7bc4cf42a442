import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

export const debugFlags = {
  backup: { type: 'string', names: 'backups', help: 'Backup to describe in the bundle, with its log.' },
  output: {
    type: 'string',
    help: 'File to write. Without it bundle-<YYYY>-<MM>-<DD>-<HH>-<MM>-<SS>.tar.gz in the current folder.',
  },
  restore: { type: 'string', names: 'restores', help: 'Restore to describe in the bundle, with its log.' },
  verbose: { type: 'boolean', help: 'Say what is collected, and what could not be had.' },
} as const satisfies FlagSet

export const debugCommand: CommandSpec = command({
  name: 'debug',
  summary: 'Collect what helps to find a fault',
  description:
    'Writes a tar.gz file with all velero.io objects of the namespace, the versions, the logs of the pods there and, if they are named, the description and the log of a backup and a restore. Secrets are not read. What cannot be had is noted in errors.txt instead of failing the rest. The values of settings whose names tell that they are secret, and of addresses the users, passwords and values of query parameters, are left out, but read it before you send it to somebody: objects and logs name what runs in the cluster.',
  examples: ['lateen debug', 'lateen debug --backup shop --restore shop-20260102030405 --output shop.tar.gz'],
  args: noArguments,
  flags: debugFlags,
  load: () => import('../commands/debug.ts'),
})
