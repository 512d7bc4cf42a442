import { backupCommands } from './backup.ts'
import { backupLocationCommands } from './backup-location.ts'
import { bugCommand } from './bug.ts'
import { type CommandGroup, command, noArguments } from './command.ts'
import { debugCommand } from './debug.ts'
import { doctorCommand } from './doctor.ts'
import { inClusterCommands } from './in-cluster.ts'
import { installCommand } from './install.ts'
import { pluginCommands } from './plugin.ts'
import { repoCommands } from './repo.ts'
import { restoreCommands } from './restore.ts'
import { scheduleCommands } from './schedule.ts'
import { serverCommand } from './server.ts'
import { snapshotLocationCommands } from './snapshot-location.ts'
import { uninstallCommand } from './uninstall.ts'

const clientConfig: CommandGroup = {
  name: 'config',
  summary: 'Read and change the client configuration file',
  description: 'The file is ~/.config/velero/config.json, shared with the velero command.',
  commands: [
    command({
      name: 'get',
      summary: 'Show values of the client configuration',
      examples: ['lateen client config get', 'lateen client config get namespace'],
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
  description:
    'Prints a script that completes commands, flags and their values in a shell. Names of backups and other objects come from the cluster, if it answers within two seconds, or within the duration in LATEEN_COMPLETION_TIMEOUT. With kubectl_complete-lateen in the path, kubectl completes them, too.',
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
  examples: ['lateen version', 'lateen version --client-only'],
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
    bugCommand,
    { name: 'client', summary: 'Work with the client configuration', commands: [clientConfig] },
    completion,
    {
      name: 'create',
      summary: 'Create objects',
      commands: [
        backupCommands.underCreate,
        backupLocationCommands.underCreate,
        restoreCommands.underCreate,
        scheduleCommands.underCreate,
        snapshotLocationCommands.underCreate,
      ],
    },
    inClusterCommands.dataMover,
    debugCommand,
    {
      name: 'delete',
      summary: 'Delete objects',
      commands: [
        backupCommands.underDelete,
        backupLocationCommands.underDelete,
        restoreCommands.underDelete,
        scheduleCommands.underDelete,
      ],
    },
    {
      name: 'describe',
      summary: 'Describe objects',
      commands: [backupCommands.underDescribe, restoreCommands.underDescribe, scheduleCommands.underDescribe],
    },
    doctorCommand,
    {
      name: 'get',
      summary: 'Show objects',
      commands: [
        backupCommands.underGet,
        backupLocationCommands.underGet,
        pluginCommands.underGet,
        restoreCommands.underGet,
        scheduleCommands.underGet,
        snapshotLocationCommands.underGet,
      ],
    },
    installCommand,
    inClusterCommands.nodeAgent,
    pluginCommands.noun,
    inClusterCommands.podVolume,
    repoCommands,
    inClusterCommands.repoMaintenance,
    restoreCommands.noun,
    inClusterCommands.runPlugins,
    scheduleCommands.noun,
    serverCommand,
    snapshotLocationCommands.noun,
    uninstallCommand,
    version,
  ],
}
