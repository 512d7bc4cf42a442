import { anyNames, type CommandSpec, command, oneName } from './command.ts'
import { downloadFlags, linkTimeout } from './download-flags.ts'
import type { FlagSet } from './flag.ts'
import { cancelFlags, deleteFlags, describeFlags, getFlags, logsFlags, secretFlags } from './object-flags.ts'
import { createOutputFlags } from './output-flags.ts'

const oldFilters = 'Not together with the filters for cluster-scoped and namespace-scoped resources.'
const newFilters =
  'Not together with --include-resources, --exclude-resources and --include-cluster-resources.'

const nouns = { one: 'backup', many: 'backups' }

/** What to back up, and how: the flags that become the spec of a backup. */
export const backupSpecFlags = {
  'csi-snapshot-timeout': {
    type: 'duration',
    help: 'How long a CSI snapshot may take. Without it the server decides (10m).',
  },
  'data-mover': {
    type: 'string',
    help: 'Who moves the data of snapshots. Without it, or with velero: the built-in mover.',
  },
  'default-volumes-to-fs-backup': {
    type: 'optional-boolean',
    help: 'Back up pod volumes from the file system unless a pod says otherwise.',
  },
  'exclude-cluster-scoped-resources': {
    type: 'list',
    emptyItem: true,
    help: `Cluster-scoped resources to leave out, as resource.group, or '*' for all. ${newFilters}`,
  },
  'exclude-namespace-scoped-resources': {
    type: 'list',
    emptyItem: true,
    help: `Namespaced resources to leave out, as resource.group, or '*' for all. ${newFilters}`,
  },
  'exclude-namespaces': {
    type: 'list',
    names: 'namespaces',
    emptyItem: true,
    help: 'Namespaces to leave out.',
  },
  'exclude-resources': {
    type: 'list',
    emptyItem: true,
    help: `Resources to leave out, as resource.group. ${oldFilters}`,
  },
  'include-cluster-resources': {
    type: 'optional-boolean',
    help: `Whether to take cluster-scoped resources; without it, those that belong to what is taken. ${oldFilters}`,
  },
  'include-cluster-scoped-resources': {
    type: 'list',
    emptyItem: true,
    help: `Cluster-scoped resources to take, as resource.group, or '*' for all. ${newFilters}`,
  },
  'include-namespace-scoped-resources': {
    type: 'list',
    emptyItem: true,
    help: `Namespaced resources to take, as resource.group, or '*' for all. ${newFilters}`,
  },
  'include-namespaces': {
    type: 'list',
    names: 'namespaces',
    default: '*',
    emptyItem: true,
    help: "Namespaces to take, with the wildcards * ? and [..]; '*' means all.",
  },
  'include-resources': {
    type: 'list',
    emptyItem: true,
    help: `Resources to take, as resource.group, such as deployments.apps, or '*' for all. ${oldFilters}`,
  },
  'item-operation-timeout': {
    type: 'duration',
    help: 'How long operations of plugins may take. Without it the server decides (4h).',
  },
  'or-selector': {
    type: 'string',
    help: "Take resources that match one of several selectors, separated by ' or ': 'app=web or app=db'.",
  },
  'ordered-resources': {
    type: 'string',
    help: "What to take first, in this order: 'pods=ns1/pod1,ns1/pod2;persistentvolumes=pv1'.",
  },
  'parallel-files-upload': {
    type: 'integer',
    default: '0',
    help: 'Files of a volume to read at the same time; 0 lets the node decide.',
  },
  'resource-policies-configmap': {
    type: 'string',
    help: 'ConfigMap in the namespace with policies for resources and volumes.',
  },
  selector: { type: 'string', short: 'l', help: 'Take only resources whose labels match this selector.' },
  'snapshot-move-data': {
    type: 'optional-boolean',
    help: 'Move the data of snapshots to the storage location.',
  },
  'snapshot-volumes': {
    type: 'optional-boolean',
    help: 'Take snapshots of volumes. Without it they are taken where that is possible.',
  },
  'storage-location': {
    type: 'string',
    names: 'backupstoragelocations',
    help: 'Backup location to write to. Without it the default one.',
  },
  ttl: { type: 'duration', help: 'How long to keep the backup. Without it the server decides (720h).' },
  'volume-group-snapshot-label-key': {
    type: 'string',
    help: 'Label of claims whose volumes are snapshot together. Without it the server decides (velero.io/volume-group).',
  },
  'volume-snapshot-locations': {
    type: 'list',
    names: 'volumesnapshotlocations',
    help: 'Snapshot locations to use, at most one for each provider.',
  },
} as const satisfies FlagSet

export const backupCreateFlags = {
  annotations: { type: 'map', help: 'Annotations of the backup as key1=value1,key2=value2.' },
  'from-schedule': {
    type: 'string',
    names: 'schedules',
    help: "Take the schedule's template instead of all filters given here. The name may then be left out.",
  },
  labels: { type: 'map', help: 'Labels of the backup as key1=value1,key2=value2.' },
  local: {
    type: 'string',
    help: 'Take the backup from here, with the rights of the kubeconfig and without a server, into this folder, which becomes a bucket. Resources only: volumes need the node agent.',
  },
  wait: {
    type: 'boolean',
    short: 'w',
    help: 'Wait for the end and show progress. The exit code is then 0 for Completed and 1 for any other end. Ctrl-C stops the waiting, not the backup.',
  },
  ...backupSpecFlags,
  ...createOutputFlags,
} as const satisfies FlagSet

export const backupGetFlags = getFlags(nouns)

export const backupDescribeFlags = describeFlags(nouns)

export const backupDiffFlags = {
  'exit-code': { type: 'boolean', help: 'Make the exit code 1 if there are differences.' },
  live: {
    type: 'boolean',
    help: 'Compare with the cluster: with what the backup would take if it were taken now.',
  },
  output: {
    type: 'choice',
    short: 'o',
    default: 'table',
    choices: ['table', 'json', 'yaml', 'diff'],
    help: 'How to print: table, json and yaml with the fields that changed, or diff, a unified diff of each object.',
  },
  ...secretFlags,
  timeout: linkTimeout('each archive'),
  'with-status': { type: 'boolean', help: 'Compare the status of objects, too.' },
  ...downloadFlags,
} as const satisfies FlagSet

export const backupDownloadFlags = {
  force: { type: 'boolean', help: 'Replace the file if it exists.' },
  output: {
    type: 'string',
    short: 'o',
    help: 'File to write. Without it <NAME>-data.tar.gz in the current folder.',
  },
  timeout: linkTimeout('the file'),
  ...downloadFlags,
} as const satisfies FlagSet

export const backupDeleteFlags = {
  ...deleteFlags(nouns),
  wait: {
    type: 'boolean',
    short: 'w',
    help: 'Wait until the backups are gone. The exit code is then 1 if one could not be deleted. Ctrl-C stops the waiting only.',
  },
} as const satisfies FlagSet

export const backupCancelFlags = cancelFlags(nouns)

function create(name: string): CommandSpec {
  return command({
    name,
    summary: 'Create a backup',
    examples: [
      'lateen backup create everything',
      'lateen backup create shop --include-namespaces shop --wait',
      'lateen backup create most --exclude-namespaces kube-system,velero',
      'lateen backup create --from-schedule daily',
      'lateen backup create shop --snapshot-volumes=false -o yaml',
      'lateen backup create shop --include-namespaces shop --local ./backups',
    ],
    args: { usage: 'NAME', min: 0, max: 1 },
    flags: backupCreateFlags,
    load: () => import('../commands/backup-create.ts'),
  })
}

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show backups',
    examples: [
      'lateen backup get',
      'lateen backup get shop -o yaml',
      'lateen backup get -l velero.io/schedule-name=daily -o name',
    ],
    args: anyNames('backups'),
    flags: backupGetFlags,
    load: () => import('../commands/backup-get.ts'),
  })
}

function describe(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Describe backups',
    examples: [
      'lateen backup describe shop',
      'lateen backup describe shop --details -o json',
      'lateen backup describe shop --details --wait',
    ],
    args: anyNames('backups'),
    flags: backupDescribeFlags,
    load: () => import('../commands/backup-describe.ts'),
  })
}

function remove(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Delete backups',
    description:
      'Asks the server to delete backups with all that belongs to them: files in the bucket, snapshots, restores.',
    examples: [
      'lateen backup delete shop',
      'lateen backup delete shop other --confirm --wait',
      'lateen backup delete --selector velero.io/schedule-name=daily',
    ],
    args: anyNames('backups'),
    flags: backupDeleteFlags,
    load: () => import('../commands/backup-delete.ts'),
  })
}

const diff = command({
  name: 'diff',
  summary: 'Show what changed between backups, or since one',
  description:
    'Compares the resources of two backups, or of one with the cluster, and shows which objects were added, removed and changed. What the API server changes by itself (uid, resourceVersion, generation, managedFields, times of creation) is no difference. Data of volumes is not compared.',
  examples: [
    'lateen backup diff monday tuesday',
    'lateen backup diff monday --live -o diff',
    'lateen backup diff monday tuesday -o json --with-status',
  ],
  args: { usage: 'NAME [LATER]', min: 1, max: 2, names: 'backups' },
  flags: backupDiffFlags,
  load: () => import('../commands/backup-diff.ts'),
})

const download = command({
  name: 'download',
  summary: 'Download the resources of a backup',
  description: 'Downloads the resources of a backup as a tar.gz file. Data of volumes is not in it.',
  examples: ['lateen backup download shop', 'lateen backup download shop --output shop.tar.gz --force'],
  args: oneName('backups'),
  flags: backupDownloadFlags,
  load: () => import('../commands/backup-download.ts'),
})

const logs = command({
  name: 'logs',
  summary: 'Show the log of a backup',
  description:
    'Shows the log of a backup as it is stored in the bucket. There is one once the backup has ended, or waits for operations of plugins.',
  examples: ['lateen backup logs shop', 'lateen backup logs shop --timeout 5m | grep level=error'],
  args: oneName('backups'),
  flags: logsFlags,
  load: () => import('../commands/backup-logs.ts'),
})

const cancel = command({
  name: 'cancel',
  summary: 'Stop backups',
  description:
    'Asks the server to stop backups. One that has not begun becomes Failed; one in progress is broken off, its operations are cancelled, and it becomes Failed; one that waits for operations of plugins, or is being finalized, has those cancelled and ends PartiallyFailed.',
  examples: [
    'lateen backup cancel shop',
    'lateen backup cancel shop other --confirm --wait',
    'lateen backup cancel --all',
  ],
  args: anyNames('backups'),
  flags: backupCancelFlags,
  load: () => import('../commands/backup-cancel.ts'),
})

/** `backup …` and the same commands under `create`, `get`, `describe` and `delete`. */
export const backupCommands = {
  noun: {
    name: 'backup',
    summary: 'Work with backups',
    commands: [
      cancel,
      create('create'),
      remove('delete'),
      describe('describe'),
      diff,
      download,
      get('get'),
      logs,
    ],
  },
  underCreate: create('backup'),
  underGet: get('backups', ['backup']),
  underDescribe: describe('backups', ['backup']),
  underDelete: remove('backup', ['backups']),
} as const satisfies Record<string, CommandSpec>
