import { backupCommands } from './backup.ts'
import { backupLocationCommands } from './backup-location.ts'
import { type CommandGroup, command, noArguments } from './command.ts'
import { installCommand } from './install.ts'
import { restoreCommands } from './restore.ts'
import { serverCommand } from './server.ts'

const clientConfig: CommandGroup = {
  name: 'config',
  summary: 'Read and change the client configuration file',
  description: 'The file is ~/.config/velero/config.json, shared with the velero command.',
  commands: [
    command({
      name: 'get',
      summary: 'Show values of the client configuration',
      args: { usage: '[KEYS]', min: 0, max: Number.POSITIVE_INFINITY },
      flags: {},
      load: () => import('../commands/client-config-get.ts'),
    }),
    command({
      name: 'set',
      summary: 'Change values of the client configuration',
      description: 'An empty value removes the key. Keys in use: namespace, features, cacert, colorized.',
      examples: ['lateen client config set namespace=backups', 'lateen client config set features='],
      args: { usage: 'KEY=VALUE [KEY=VALUE]...', min: 1, max: Number.POSITIVE_INFINITY },
      flags: {},
      load: () => import('../commands/client-config-set.ts'),
    }),
  ],
}

const completion = command({
  name: 'completion',
  summary: 'Print a script that completes lateen in a shell',
  examples: [
    'source <(lateen completion bash)',
    'source <(lateen completion zsh)',
    'lateen completion fish | source',
  ],
  args: { usage: 'bash|zsh|fish', min: 1, max: 1, choices: ['bash', 'zsh', 'fish'] },
  flags: {},
  load: () => import('../commands/completion.ts'),
})

/** Flags of `version`. */
export const versionFlags = {
  'client-only': { type: 'boolean', help: 'Show the version of this program only.' },
  timeout: { type: 'duration', default: '5s', help: "How long to wait for the server's answer." },
} as const

const version = command({
  name: 'version',
  summary: 'Show the versions of this program and of the server',
  args: noArguments,
  flags: versionFlags,
  load: () => import('../commands/version.ts'),
})

/** Every command there is. */
export const commandTree: CommandGroup = {
  name: 'lateen',
  summary: 'Back up, restore and migrate what runs in Kubernetes',
  description:
    "Works with the objects, buckets and command lines of Velero. As with kubectl, verbs may come first: 'lateen get backups' is 'lateen backup get'.",
  commands: [
    backupCommands.noun,
    backupLocationCommands.noun,
    { name: 'client', summary: 'Work with the client configuration', commands: [clientConfig] },
    completion,
    {
      name: 'create',
      summary: 'Create objects',
      commands: [backupCommands.underCreate, backupLocationCommands.underCreate, restoreCommands.underCreate],
    },
    {
      name: 'delete',
      summary: 'Delete objects',
      commands: [backupCommands.underDelete, backupLocationCommands.underDelete, restoreCommands.underDelete],
    },
    {
      name: 'describe',
      summary: 'Describe objects',
      commands: [backupCommands.underDescribe, restoreCommands.underDescribe],
    },
    {
      name: 'get',
      summary: 'Show objects',
      commands: [backupCommands.underGet, backupLocationCommands.underGet, restoreCommands.underGet],
    },
    installCommand,
    restoreCommands.noun,
    serverCommand,
    version,
  ],
}
