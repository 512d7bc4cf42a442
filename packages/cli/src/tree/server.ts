import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

const logLevels = ['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'] as const

const restorePriorities = [
  'customresourcedefinitions,namespaces,storageclasses,volumesnapshotclass.snapshot.storage.k8s.io',
  'volumesnapshotcontents.snapshot.storage.k8s.io,volumesnapshots.snapshot.storage.k8s.io,datauploads.velero.io',
  'persistentvolumes,persistentvolumeclaims,clusterroles,roles,serviceaccounts,clusterrolebindings,rolebindings',
  'secrets,configmaps,limitranges,priorityclasses,pods,replicasets.apps,clusterclasses.cluster.x-k8s.io,endpoints',
  'services,-,clusterbootstraps.run.tanzu.vmware.com,clusters.cluster.x-k8s.io',
  'clusterresourcesets.addons.cluster.x-k8s.io,apps.kappctrl.k14s.io,packageinstalls.packaging.carvel.dev',
].join(',')

/** Flags that change what this server does. */
const effectiveFlags = {
  'restore-resource-priorities': {
    type: 'list',
    default: restorePriorities,
    help: 'Types to restore first, in this order, and after a "-" those to restore last.',
  },
  'terminating-resource-timeout': {
    type: 'duration',
    default: '10m',
    help: 'How long a restore waits for namespaces and volumes that are being deleted.',
  },
  'client-page-size': {
    type: 'integer',
    default: '0',
    help: 'Objects per page of a list; 0 lets the server choose.',
  },
  'concurrent-backups': { type: 'integer', default: '1', help: 'Backups that may run at the same time.' },
  'default-backup-ttl': {
    type: 'duration',
    default: '720h',
    help: 'How long backups are kept that do not say.',
  },
  'default-item-operation-timeout': {
    type: 'duration',
    default: '4h',
    help: 'How long operations of plugins may take in backups that do not say.',
  },
  'default-snapshot-move-data': {
    type: 'boolean',
    help: 'Move the data of snapshots to the storage location in backups that do not say.',
  },
  'default-volume-snapshot-locations': {
    type: 'map',
    pairSeparator: ':',
    help: 'Snapshot location for each provider that has several, as provider:location,…',
  },
  'default-volumes-to-fs-backup': {
    type: 'boolean',
    help: 'Back up pod volumes from the file system in backups that do not say.',
  },
  'disable-controllers': { type: 'list', help: 'Controllers not to run, by name.' },
  'global-backup-volume-policies-configmap': {
    type: 'string',
    help: 'ConfigMap with volume policies for all backups.',
  },
  'item-block-worker-count': {
    type: 'integer',
    default: '8',
    help: 'Blocks of items that are worked on at the same time, by all backups together.',
  },
  'resource-timeout': {
    type: 'duration',
    default: '10m',
    help: 'How long plugins may wait for resources of the cluster.',
  },
  'volume-group-snapshot-label-key': {
    type: 'string',
    default: 'velero.io/volume-group',
    help: 'Label of claims whose volumes are snapshot together.',
  },
  'credentials-directory': {
    type: 'string',
    help: 'Folder for credentials read from secrets, while the server runs. Default: a new one below the temporary folder.',
  },
  'default-backup-storage-location': {
    type: 'string',
    default: 'default',
    help: "Location to make the default at start when none is. Better: 'lateen backup-location set --default'.",
  },
  'leader-election': {
    type: 'boolean',
    help: 'Let several servers take turns through a Lease instead of expecting to be the only one.',
  },
  'log-format': { type: 'choice', default: 'text', choices: ['text', 'json'], help: 'text or json.' },
  'log-level': {
    type: 'choice',
    default: 'info',
    choices: logLevels,
    help: `The least important lines to log: ${logLevels.join(', ')}.`,
  },
  'metrics-address': {
    type: 'string',
    default: ':8085',
    help: 'Where to serve metrics, health and downloads, as HOST:PORT or :PORT. Empty: nowhere.',
  },
  'download-url-base': {
    type: 'string',
    help: 'How clients reach the metrics address, for links to backups in filesystem locations.',
  },
  'store-validation-frequency': {
    type: 'duration',
    default: '1m',
    help: 'How often to validate backup locations that do not say; 0s validates them once.',
  },
  'store-validation-timeout': {
    type: 'duration',
    default: '30s',
    help: 'How long one validation may take before the location counts as unavailable.',
  },
} as const satisfies FlagSet

const unused = 'Accepted, but this version does nothing with it.'

/** Velero's other server flags, so that its manifests start this server. They are read and checked, nothing more. */
const acceptedFlags = {
  'backup-repository-configmap': { type: 'string', help: unused },
  'backup-sync-period': { type: 'duration', default: '1m', help: unused },
  'client-burst': { type: 'integer', default: '100', help: unused },
  'client-qps': { type: 'number', default: '100', help: unused },
  'default-repo-maintain-frequency': { type: 'duration', default: '0s', help: unused },
  'disable-informer-cache': { type: 'boolean', help: unused },
  'fs-backup-timeout': { type: 'duration', default: '4h', help: unused },
  'garbage-collection-frequency': { type: 'duration', default: '0s', help: unused },
  'item-operation-sync-frequency': { type: 'duration', default: '0s', help: unused },
  'max-concurrent-k8s-connections': { type: 'integer', default: '30', help: unused },
  'plugin-dir': { type: 'string', default: '/plugins', help: unused },
  'profiler-address': { type: 'string', default: 'localhost:6060', help: unused },
  'repo-maintenance-job-configmap': { type: 'string', help: unused },
  'restore-only': { type: 'boolean', help: unused },
  'schedule-skip-immediately': { type: 'boolean', help: unused },
  'uploader-type': { type: 'choice', default: 'kopia', choices: ['kopia'], help: unused },
} as const satisfies FlagSet

/** Velero's server flags with its defaults, and ours. */
export const serverFlags = { ...effectiveFlags, ...acceptedFlags } as const satisfies FlagSet

export const serverCommand: CommandSpec = command({
  name: 'server',
  summary: 'Run the server',
  description:
    'Runs the server until it is told to stop. In this version it looks after backup storage locations, takes backups, and answers requests for their files and for its version.',
  examples: ['lateen server --namespace velero --log-level debug --metrics-address 127.0.0.1:8085'],
  args: noArguments,
  flags: serverFlags,
  load: () => import('../commands/server.ts'),
})
