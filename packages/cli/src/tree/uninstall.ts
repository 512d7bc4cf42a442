import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

export const uninstallFlags = {
  force: {
    type: 'boolean',
    help: 'Go ahead without being asked, and even while backups or restores run.',
  },
  wait: { type: 'boolean', help: 'Accepted for Velero scripts: the end is always waited for.' },
} as const satisfies FlagSet

export const uninstallCommand: CommandSpec = command({
  name: 'uninstall',
  summary: 'Remove an installation from the cluster',
  description:
    "Removes the server, the namespace with everything in it, the rights, and the CustomResourceDefinitions with the objects of their kinds. What is in buckets stays: a new installation with the same location finds the backups again, and can read the data of volumes with the same password of repositories, which it says how to save. A namespace with a claim that holds backups is emptied and stays, and so do definitions that another namespace's installation uses. Works for what 'velero install' made, too. A removal that was interrupted is finished by the same command.",
  examples: ['lateen uninstall', 'lateen uninstall --namespace staging --force'],
  args: noArguments,
  flags: uninstallFlags,
  load: () => import('../commands/uninstall.ts'),
})
