import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'
import { logFlags } from './log-flags.ts'
import { serverFlags } from './server.ts'

const resourceTimeout = {
  type: 'duration',
  help: 'How long to wait for resources of the cluster.',
} as const

const cachePath = { type: 'string', help: 'Folder of the volume for the cache.' } as const

/** Flags of `node-agent server`. */
export const nodeAgentFlags = {
  'backup-repository-configmap': { type: 'string', help: 'ConfigMap with settings of repositories.' },
  'data-mover-prepare-timeout': {
    type: 'duration',
    default: '30m',
    help: 'How long the preparation of a mover may take.',
  },
  'metrics-address': { type: 'string', default: ':8085', help: 'Where to serve metrics.' },
  'node-agent-configmap': { type: 'string', help: 'ConfigMap with settings of node agents.' },
  'resource-timeout': { ...resourceTimeout, default: '10m' },
  ...logFlags,
} as const satisfies FlagSet

const calledByPods = 'Called by pods, not by people.'

const nodeAgentServer = command({
  name: 'server',
  hidden: true,
  summary: 'Run the node agent, which has the data of volumes moved',
  description: `Run the node agent, which has the data of the volumes on its node moved. ${calledByPods}`,
  examples: ['lateen node-agent server --node-agent-configmap node-agent-config'],
  args: noArguments,
  flags: nodeAgentFlags,
  load: () => import('../commands/node-agent-server.ts'),
})

const volumeMode = { type: 'string', help: 'Mode of the volume: Filesystem or Block. Required.' } as const

/** Flags of all movers. */
export const moverFlags = {
  'resource-timeout': resourceTimeout,
  'volume-path': { type: 'string', help: 'Where the volume is. Required.' },
  ...logFlags,
} as const satisfies FlagSet

/** Flags of `data-mover backup`. */
export const dataMoverBackupFlags = {
  'data-upload': { type: 'string', help: 'Name of the DataUpload. Required.' },
  'volume-mode': volumeMode,
  ...moverFlags,
} as const satisfies FlagSet

/** Flags of `data-mover restore`. */
export const dataMoverRestoreFlags = {
  'cache-volume-path': cachePath,
  'data-download': { type: 'string', help: 'Name of the DataDownload. Required.' },
  'volume-mode': volumeMode,
  ...moverFlags,
} as const satisfies FlagSet

const dataMover: CommandSpec = {
  name: 'data-mover',
  hidden: true,
  summary: 'Move the data of snapshots',
  commands: [
    command({
      name: 'backup',
      hidden: true,
      summary: 'Carry out a DataUpload',
      description: `Carry out a DataUpload. ${calledByPods}`,
      examples: ['lateen data-mover backup --volume-path /v --volume-mode Filesystem --data-upload up-1'],
      args: noArguments,
      flags: dataMoverBackupFlags,
      load: () => import('../commands/data-mover-backup.ts'),
    }),
    command({
      name: 'restore',
      hidden: true,
      summary: 'Carry out a DataDownload',
      description: `Carry out a DataDownload. ${calledByPods}`,
      examples: [
        'lateen data-mover restore --volume-path /v --volume-mode Filesystem --data-download down-1',
      ],
      args: noArguments,
      flags: dataMoverRestoreFlags,
      load: () => import('../commands/data-mover-restore.ts'),
    }),
  ],
}

/** Flags of `pod-volume backup`. */
export const podVolumeBackupFlags = {
  'pod-volume-backup': { type: 'string', help: 'Name of the PodVolumeBackup. Required.' },
  ...moverFlags,
} as const satisfies FlagSet

/** Flags of `pod-volume restore`. */
export const podVolumeRestoreFlags = {
  'cache-volume-path': cachePath,
  'pod-volume-restore': { type: 'string', help: 'Name of the PodVolumeRestore. Required.' },
  ...moverFlags,
} as const satisfies FlagSet

const podVolume: CommandSpec = {
  name: 'pod-volume',
  hidden: true,
  summary: 'Back up and restore volumes of pods from the file system',
  commands: [
    command({
      name: 'backup',
      hidden: true,
      summary: 'Carry out a PodVolumeBackup',
      description: `Carry out a PodVolumeBackup. ${calledByPods}`,
      examples: ['lateen pod-volume backup --volume-path /v --pod-volume-backup pvb-1'],
      args: noArguments,
      flags: podVolumeBackupFlags,
      load: () => import('../commands/pod-volume-backup.ts'),
    }),
    command({
      name: 'restore',
      hidden: true,
      summary: 'Carry out a PodVolumeRestore',
      description: `Carry out a PodVolumeRestore. ${calledByPods}`,
      examples: ['lateen pod-volume restore --volume-path /v --pod-volume-restore pvr-1'],
      args: noArguments,
      flags: podVolumeRestoreFlags,
      load: () => import('../commands/pod-volume-restore.ts'),
    }),
  ],
}

/** Flags of `repo-maintenance`. */
export const repoMaintenanceFlags = {
  'backup-storage-location': { type: 'string', help: 'Backup location of the repository.' },
  'repo-name': { type: 'string', help: 'Namespace whose volumes the repository holds.' },
  'repo-type': { type: 'string', default: 'kopia', help: 'Sort of repository.' },
  ...logFlags,
} as const satisfies FlagSet

const repoMaintenance = command({
  name: 'repo-maintenance',
  hidden: true,
  summary: 'Maintain a repository',
  description: `Do what is due for a repository of volume data. ${calledByPods}`,
  examples: ['lateen repo-maintenance --repo-name shop --backup-storage-location default --repo-type kopia'],
  args: noArguments,
  flags: repoMaintenanceFlags,
  load: () => import('../commands/repo-maintenance.ts'),
})

const runPlugins = command({
  name: 'run-plugins',
  hidden: true,
  summary: 'Serve the built-in plugins, for Velero',
  description:
    'A Velero server calls this of itself. The built-in plugins of Lateen run inside of its server: the flags are accepted, and the command says so.',
  examples: ['lateen run-plugins --log-level debug'],
  args: noArguments,
  flags: serverFlags,
  load: () => import('../commands/run-plugins.ts'),
})

/** Commands that pods call. */
export const inClusterCommands = {
  dataMover,
  nodeAgent: {
    name: 'node-agent',
    hidden: true,
    summary: 'Run on the nodes of the cluster',
    commands: [nodeAgentServer],
  },
  podVolume,
  repoMaintenance,
  runPlugins,
} as const satisfies Record<string, CommandSpec>
