import { anyNames, type CommandSpec, command } from './command.ts'
import { getFlags } from './object-flags.ts'

export const repoGetFlags = getFlags({ one: 'repository', many: 'repositories' })

/** `repo …`. */
export const repoCommands: CommandSpec = {
  name: 'repo',
  summary: 'Work with repositories',
  description:
    'Work with the repositories that hold the data of volumes: one for each namespace, backup location and sort of repository.',
  commands: [
    command({
      name: 'get',
      summary: 'Show repositories',
      examples: ['lateen repo get', 'lateen repo get -l velero.io/storage-location=default -o yaml'],
      args: anyNames('backuprepositories'),
      flags: repoGetFlags,
      load: () => import('../commands/repo-get.ts'),
    }),
  ],
}
