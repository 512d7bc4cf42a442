import { version } from '../build-info.ts'
import { CliError } from '../cli-error.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { installFlags } from '../tree/install.ts'
import { filesystemFrom, isFilesystem, locationConfigOf } from './filesystem-from-flags.ts'
import type { InstallOptions } from './install-options.ts'
import { resourcesOf } from './resources.ts'
import { rightsFrom } from './rights-from-flags.ts'

type Flags = FlagValues<typeof installFlags>

/** Providers that the server brings along; others come as plugins. */
const builtInProviders: readonly string[] = ['aws', 'filesystem', 'velero.io/aws', 'velero.io/filesystem']

/** What the flags come from and the files they name. */
export interface InstallInput {
  readonly flags: Flags
  readonly namespace: string
  readonly features: readonly string[]
  readonly secret?: Uint8Array | undefined
  readonly caCert?: Uint8Array | undefined
}

/** Turns the flags of `install` into options. Throws a CliError for flags that contradict each other. */
export function installOptionsFrom(input: InstallInput): InstallOptions {
  const { flags, secret, caCert } = input
  for (const check of checks) check(flags)
  const { prefix } = flags
  const rights = rightsFrom(flags)
  const filesystem = filesystemFrom(flags)
  return {
    namespace: input.namespace,
    image: flags.image ?? `lateen/lateen:${version}`,
    provider: flags.provider ?? '',
    ...(flags['no-default-backup-location']
      ? {}
      : {
          backupLocation: {
            bucket: flags.bucket ?? '',
            config: locationConfigOf(flags, filesystem),
            ...(prefix ? { prefix } : {}),
            ...(caCert === undefined ? {} : { caCert }),
          },
        }),
    ...(wantsSnapshotLocation(flags)
      ? { snapshotLocation: { config: flags['snapshot-location-config'] } }
      : {}),
    ...(secret === undefined ? {} : { secret }),
    ...(flags['service-account-name'] ? { serviceAccountName: flags['service-account-name'] } : {}),
    ...(rights === undefined ? {} : { rights }),
    serviceAccountAnnotations: flags['sa-annotations'],
    podAnnotations: flags['pod-annotations'],
    podLabels: flags['pod-labels'],
    features: input.features,
    ...(flags['backup-repository-configmap']
      ? { backupRepositoryConfigMap: flags['backup-repository-configmap'] }
      : {}),
    ...(filesystem === undefined ? {} : { filesystem }),
    server: serverPod(flags, input.features),
    nodeAgent: nodeAgentPod(flags),
  }
}

/** A folder cannot take snapshots of volumes, whatever the default of the flag says. */
function wantsSnapshotLocation(flags: Flags): boolean {
  return flags['use-volume-snapshots'] && !isFilesystem(flags.provider)
}

function serverPod(flags: Flags, features: readonly string[]): InstallOptions['server'] {
  const priorityClassName = flags['server-priority-class-name']
  return {
    replicas: flags.replicas,
    uploaderType: flags['uploader-type'],
    resources: resourcesOf(
      {
        cpuRequest: flags['velero-pod-cpu-request'],
        memRequest: flags['velero-pod-mem-request'],
        cpuLimit: flags['velero-pod-cpu-limit'],
        memLimit: flags['velero-pod-mem-limit'],
      },
      'server',
    ),
    plugins: flags.plugins,
    ...(priorityClassName ? { priorityClassName } : {}),
    csiSnapshotEarlyFrequentPolling: flags['csi-snapshot-early-frequent-polling'],
    args: serverArguments(flags, features),
  }
}

function nodeAgentPod(flags: Flags): InstallOptions['nodeAgent'] {
  const priorityClassName = flags['node-agent-priority-class-name']
  const configMap = flags['node-agent-configmap']
  return {
    linux: flags['use-node-agent'],
    windows: flags['use-node-agent-windows'],
    resources: resourcesOf(
      {
        cpuRequest: flags['node-agent-pod-cpu-request'],
        memRequest: flags['node-agent-pod-mem-request'],
        cpuLimit: flags['node-agent-pod-cpu-limit'],
        memLimit: flags['node-agent-pod-mem-limit'],
      },
      'node agent',
    ),
    privileged: flags['privileged-node-agent'],
    hostPath: !flags['node-agent-disable-host-path'],
    kubeletRootDir: flags['kubelet-root-dir'],
    ...(configMap ? { configMap } : {}),
    ...(priorityClassName ? { priorityClassName } : {}),
  }
}

/** The server's arguments, in the order in which Velero writes them. */
function serverArguments(flags: Flags, features: readonly string[]): string[] {
  const switches = [
    'default-volumes-to-fs-backup',
    'default-snapshot-move-data',
    'disable-informer-cache',
    'schedule-skip-immediately',
  ] as const
  const durations = [
    ['default-repo-maintain-frequency', flags['default-repo-maintain-frequency']],
    ['garbage-collection-frequency', flags['garbage-collection-frequency']],
    ['fs-backup-timeout', flags['pod-volume-operation-timeout']],
  ] as const
  const texts = ['backup-repository-configmap', 'repo-maintenance-job-configmap'] as const
  const counts = ['item-block-worker-count', 'concurrent-backups'] as const
  return [
    ...(features.length > 0 ? [`--features=${features.join(',')}`] : []),
    ...switches.filter(name => flags[name]).map(name => `--${name}=true`),
    `--uploader-type=${flags['uploader-type']}`,
    ...(flags['restore-only'] ? ['--restore-only'] : []),
    ...durations.flatMap(([name, value]) =>
      value !== undefined && value.nanoseconds > 0n ? [`--${name}=${value.text}`] : [],
    ),
    ...texts.filter(name => flags[name]).map(name => `--${name}=${flags[name]}`),
    ...counts.filter(name => (flags[name] ?? 0) > 0).map(name => `--${name}=${flags[name]}`),
    ...(flags.replicas > 1 ? ['--leader-elect'] : []),
  ]
}

const checks: readonly ((flags: Flags) => void)[] = [
  checkUploader,
  checkReplicas,
  checkMaintenance,
  checkBackupLocation,
  checkSnapshotLocation,
  checkPlugins,
  checkSecret,
  checkNodeAgent,
  checkDurations,
]

function refuse(message: string, hint?: string): never {
  throw new CliError('USAGE', message, hint === undefined ? {} : { hint })
}

/** In the words of Velero 1.18. */
function checkUploader(flags: Flags): void {
  const type = flags['uploader-type']
  if (type.trim() === 'kopia') return
  refuse(
    `invalid uploader type '${type}', valid type: 'kopia'`,
    type === 'restic'
      ? 'Velero 1.18 has given up restic: leave --uploader-type out, and new backups go to kopia; what restic has stored stays in the bucket'
      : 'leave --uploader-type out',
  )
}

function checkReplicas({ replicas }: Flags): void {
  if (replicas >= 1) return
  refuse(
    `--replicas must be at least 1, and ${replicas} is not`,
    "stop a server with 'kubectl scale deployment/velero --replicas=0'",
  )
}

/** Velero hands these to a server that no longer knows them, and that server never starts. */
function checkMaintenance(flags: Flags): void {
  const gone = [
    'keep-latest-maintenance-jobs',
    'maintenance-job-cpu-limit',
    'maintenance-job-cpu-request',
    'maintenance-job-mem-limit',
    'maintenance-job-mem-request',
  ] as const
  const given = gone.find(name => flags[name] !== undefined)
  if (given === undefined) return
  refuse(
    `--${given} is not known to the server any more`,
    'put it into the ConfigMap of --repo-maintenance-job-configmap',
  )
}

function checkBackupLocation(flags: Flags): void {
  if (flags.bucket?.startsWith('-')) refuse(`--bucket must not begin with a dash, and ${flags.bucket} does`)
  if (!flags['no-default-backup-location']) {
    if (!flags.provider)
      refuse('--provider is required', 'or leave the location out with --no-default-backup-location')
    if (!flags.bucket)
      refuse('--bucket is required', 'or leave the location out with --no-default-backup-location')
    return
  }
  const used = flags.bucket ? 'bucket' : flags.prefix ? 'prefix' : undefined
  const config =
    Object.keys(flags['backup-location-config']).length > 0 ? 'backup-location-config' : undefined
  const contradicts = used ?? config
  if (contradicts) refuse(`--${contradicts} and --no-default-backup-location contradict each other`)
}

function checkSnapshotLocation(flags: Flags): void {
  if (flags['use-volume-snapshots']) {
    if (!flags.provider)
      refuse('--provider is required', 'or leave the location out with --use-volume-snapshots=false')
  } else if (Object.keys(flags['snapshot-location-config']).length > 0) {
    refuse('--snapshot-location-config and --use-volume-snapshots=false contradict each other')
  }
}

function checkPlugins(flags: Flags): void {
  const unused = flags['no-default-backup-location'] && !flags['use-volume-snapshots']
  if (unused && flags.provider) {
    refuse('--provider is of no use with --no-default-backup-location and --use-volume-snapshots=false')
  }
  if (unused || flags.plugins.length > 0 || builtInProviders.includes(flags.provider ?? '')) return
  refuse(`--plugins is required: provider ${flags.provider} is not built in`, 'aws and filesystem are')
}

function checkSecret(flags: Flags): void {
  if (flags['secret-file'] && flags['no-secret'])
    refuse('--secret-file and --no-secret contradict each other')
  if (!flags['secret-file'] && !flags['no-secret']) refuse('one of --secret-file and --no-secret is required')
}

function checkNodeAgent(flags: Flags): void {
  if (flags['default-volumes-to-fs-backup'] && !flags['use-node-agent']) {
    refuse('--default-volumes-to-fs-backup needs --use-node-agent')
  }
}

function checkDurations(flags: Flags): void {
  for (const name of [
    'default-repo-maintain-frequency',
    'garbage-collection-frequency',
    'pod-volume-operation-timeout',
  ] as const) {
    const value = flags[name]
    if (value !== undefined && value.nanoseconds < 0n)
      refuse(`--${name} must not be negative, and ${value.text} is`)
  }
}
