import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'
import { logFlags } from './log-flags.ts'

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
  'disable-csi-snapshots': {
    type: 'boolean',
    help: 'Take no snapshots through CSI. Without it they are taken where the cluster serves VolumeSnapshots.',
  },
  'disable-controllers': { type: 'list', help: 'Controllers not to run, by name.' },
  'backup-repository-configmap': {
    type: 'string',
    help: 'ConfigMap with settings for new repositories of volume data.',
  },
  'default-repo-maintain-frequency': {
    type: 'duration',
    default: '0s',
    help: 'How often repositories are maintained. 0: as often as suits their format.',
  },
  'repo-maintenance-job-configmap': {
    type: 'string',
    help: 'ConfigMap with settings for the Jobs that maintain repositories.',
  },
  'global-backup-volume-policies-configmap': {
    type: 'string',
    help: 'ConfigMap with volume policies for all backups.',
  },
  'item-block-worker-count': {
    type: 'integer',
    default: '8',
    help: 'Blocks of items that are worked on at the same time, by all backups together; as many finish backups, and as many restore.',
  },
  'item-operation-sync-frequency': {
    type: 'duration',
    default: '0s',
    help: 'How often to ask plugins about operations that backups and restores wait for; 0s is every 10 seconds.',
  },
  'plugin-dir': {
    type: 'string',
    default: '/plugins',
    help: 'Folder with the programs of plugins.',
  },
  'prefer-external-plugins': {
    type: 'boolean',
    help: 'Let plugins of programs take the place of built-in ones of the same kind and name.',
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
  'leader-elect': {
    type: 'optional-boolean',
    help: 'Let servers take turns through a Lease, so that one works and the others stand by. Default: in a pod, yes.',
  },
  'leader-elect-lease-duration': {
    type: 'duration',
    default: '15s',
    help: 'How long a standby leaves the lease of a leader alone that does not renew it.',
  },
  'leader-elect-renew-deadline': {
    type: 'duration',
    default: '10s',
    help: 'How long a leader tries to renew its lease before it ends; less than the lease lasts.',
  },
  'leader-elect-retry-period': {
    type: 'duration',
    default: '2s',
    help: 'How often the lease is renewed by the leader and looked at by others.',
  },
  ...logFlags,
  'metrics-address': {
    type: 'string',
    default: ':8085',
    help: 'Where to serve metrics, health and downloads, as HOST:PORT or :PORT. Empty: nowhere.',
  },
  'profiler-address': {
    type: 'string',
    help: 'Where to serve heap snapshots and CPU profiles, such as localhost:6060. They hold secrets. Empty: nowhere.',
  },
  'download-url-base': {
    type: 'string',
    help: 'How clients reach the metrics address, for links to backups in filesystem locations. Default: the environment variable LATEEN_DOWNLOAD_URL_BASE.',
  },
  'schedule-skip-immediately': {
    type: 'boolean',
    help: 'Leave out backups that are due at once when a schedule is new, for schedules that do not say.',
  },
  'restore-only': {
    type: 'boolean',
    help: 'Restore only: take, schedule, finalize, delete and collect no backups. Better: --disable-controllers.',
  },
  'fs-backup-timeout': {
    type: 'duration',
    default: '4h',
    help: 'How long the files of all volumes of a backup or restore may take.',
  },
  'garbage-collection-frequency': {
    type: 'duration',
    default: '0s',
    help: 'How often to look for expired backups; 0s is every hour.',
  },
  'backup-sync-period': {
    type: 'duration',
    default: '1m',
    help: 'How often to look for backups in the buckets of locations that do not say; 0s is never.',
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
  'client-burst': { type: 'integer', default: '100', help: unused },
  'client-qps': { type: 'number', default: '100', help: unused },
  'disable-informer-cache': { type: 'boolean', help: unused },
  'max-concurrent-k8s-connections': { type: 'integer', default: '30', help: unused },
  'uploader-type': { type: 'choice', default: 'kopia', choices: ['kopia'], help: unused },
} as const satisfies FlagSet

/** Velero's server flags with its defaults, and ours. */
export const serverFlags = { ...effectiveFlags, ...acceptedFlags } as const satisfies FlagSet

export const serverCommand: CommandSpec = command({
  name: 'server',
  summary: 'Run the server',
  description:
    'Runs the server until it is told to stop: it takes, restores, schedules, synchronizes and deletes backups, looks after their locations, and answers requests for their files and for its version.',
  examples: ['lateen server --namespace velero --log-level debug --metrics-address 127.0.0.1:8085'],
  args: noArguments,
  flags: serverFlags,
  load: () => import('../commands/server.ts'),
})
