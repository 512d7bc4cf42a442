import { anyNames, type CommandSpec, command, oneName } from './command.ts'
import { downloadFlags, linkTimeout } from './download-flags.ts'
import type { FlagSet } from './flag.ts'
import { cancelFlags, deleteFlags, describeFlags, getFlags, logsFlags, secretFlags } from './object-flags.ts'
import { createOutputFlags } from './output-flags.ts'

const nouns = { one: 'restore', many: 'restores' }

/** What to restore, and how: the flags that become the spec of a restore. */
export const restoreSpecFlags = {
  'exclude-namespaces': {
    type: 'list',
    names: 'namespaces',
    emptyItem: true,
    help: 'Namespaces to leave out.',
  },
  'exclude-resources': {
    type: 'list',
    emptyItem: true,
    help: 'Resources to leave out, as resource.group.',
  },
  'existing-resource-policy': {
    type: 'string',
    choices: ['none', 'update'],
    help: 'What to do with objects that exist: none leaves them as they are, update changes them. Without it none.',
  },
  'include-cluster-resources': {
    type: 'optional-boolean',
    help: 'Whether to restore cluster-scoped resources; without it, those that belong to what is restored.',
  },
  'include-namespaces': {
    type: 'list',
    names: 'namespaces',
    default: '*',
    emptyItem: true,
    help: "Namespaces to restore, as they are named in the backup; '*' means all.",
  },
  'include-resources': {
    type: 'list',
    emptyItem: true,
    help: "Resources to restore, as resource.group, such as deployments.apps, or '*' for all.",
  },
  'item-operation-timeout': {
    type: 'duration',
    help: 'How long operations of plugins may take. Without it the server decides (4h).',
  },
  'namespace-mappings': {
    type: 'map',
    pairSeparator: ':',
    help: 'Namespaces to restore under another name as old1:new1,old2:new2.',
  },
  'or-selector': {
    type: 'string',
    help: "Restore resources that match one of several selectors, separated by ' or ': 'app=web or app=db'.",
  },
  'parallel-files-download': {
    type: 'integer',
    default: '0',
    help: 'Files of a volume to write at the same time; 0 lets the node decide.',
  },
  'preserve-nodeports': {
    type: 'optional-boolean',
    help: 'Whether services keep their node ports. Without it those that a user has set.',
  },
  'resource-modifier-configmap': {
    type: 'string',
    help: 'ConfigMap in the namespace with changes to make to resources.',
  },
  'resource-policies-configmap': {
    type: 'string',
    help: 'ConfigMap in the namespace with finer filters for resources.',
  },
  'restore-volumes': {
    type: 'optional-boolean',
    help: 'Whether to restore volumes from snapshots. Without it where there are some.',
  },
  selector: {
    type: 'string',
    short: 'l',
    help: 'Restore only resources whose labels match this selector.',
  },
  'status-exclude-resources': {
    type: 'list',
    emptyItem: true,
    help: 'Resources to restore without their status, as resource.group. Only together with --status-include-resources.',
  },
  'status-include-resources': {
    type: 'list',
    emptyItem: true,
    help: "Resources to restore with their status, as resource.group, or '*' for all.",
  },
  'write-sparse-files': {
    type: 'optional-boolean',
    help: 'Whether runs of zeros become holes in the files of volumes.',
  },
} as const satisfies FlagSet

export const restoreCreateFlags = {
  'allow-partially-failed': {
    type: 'optional-boolean',
    help: 'With --from-schedule: whether a backup that is PartiallyFailed will do, if it is the newest.',
  },
  annotations: { type: 'map', help: 'Annotations of the restore as key1=value1,key2=value2.' },
  'from-backup': { type: 'string', names: 'backups', help: 'Backup to restore from.' },
  'from-schedule': {
    type: 'string',
    names: 'schedules',
    help: 'Schedule whose newest Completed backup to restore from.',
  },
  labels: { type: 'map', help: 'Labels of the restore as key1=value1,key2=value2.' },
  local: {
    type: 'string',
    help: 'Restore from here, with the rights of the kubeconfig and without a server, from a backup in this folder: one that backup create --local has made, or a copy of a bucket. Resources only: volumes need the node agent.',
  },
  wait: {
    type: 'boolean',
    short: 'w',
    help: 'Wait for the end and show progress. The exit code is then 0 for Completed and 1 for any other end. Ctrl-C stops the waiting, not the restore.',
  },
  ...restoreSpecFlags,
  ...createOutputFlags,
} as const satisfies FlagSet

export const restorePlanFlags = {
  'allow-partially-failed': restoreCreateFlags['allow-partially-failed'],
  annotations: restoreCreateFlags.annotations,
  'from-backup': { type: 'string', names: 'backups', help: 'Backup to plan a restore from.' },
  'from-schedule': {
    type: 'string',
    names: 'schedules',
    help: 'Schedule whose newest Completed backup to plan a restore from.',
  },
  labels: restoreCreateFlags.labels,
  local: {
    type: 'string',
    help: 'Plan a restore from a backup in this folder, as restore create --local would make it, without a server.',
  },
  output: {
    type: 'choice',
    short: 'o',
    default: 'table',
    choices: ['table', 'json', 'yaml', 'diff'],
    help: 'How to print: table, json and yaml with the fields that would change, or diff, a unified diff of each object.',
  },
  ...secretFlags,
  timeout: linkTimeout('each file of the backup'),
  ...restoreSpecFlags,
  ...downloadFlags,
} as const satisfies FlagSet

export const restoreGetFlags = getFlags(nouns)

export const restoreDescribeFlags = describeFlags(nouns)

export const restoreDeleteFlags = deleteFlags(nouns)

export const restoreCancelFlags = cancelFlags(nouns)

function create(name: string): CommandSpec {
  return command({
    name,
    summary: 'Create a restore',
    description:
      'Restores from a backup, or from the newest Completed backup of a schedule. Without a name the restore is called after the backup or schedule and the time.',
    examples: [
      'lateen restore create --from-backup shop --wait',
      'lateen restore create again --from-backup shop --include-namespaces shop',
      'lateen restore create copy --from-backup shop --namespace-mappings shop:shop-copy',
      'lateen restore create --from-schedule daily --allow-partially-failed',
      'lateen restore create --from-backup shop --include-resources persistentvolumeclaims,persistentvolumes -o yaml',
      'lateen restore create --from-backup shop --local ./backups',
    ],
    args: { usage: '[NAME]', min: 0, max: 1 },
    flags: restoreCreateFlags,
    load: () => import('../commands/restore-create.ts'),
  })
}

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show restores',
    examples: ['lateen restore get', 'lateen restore get shop-20260102030405 -o json'],
    args: anyNames('restores'),
    flags: restoreGetFlags,
    load: () => import('../commands/restore-get.ts'),
  })
}

function describe(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Describe restores',
    examples: [
      'lateen restore describe again',
      'lateen restore describe again --details -o json',
      'lateen restore describe again --details --wait',
    ],
    args: anyNames('restores'),
    flags: restoreDescribeFlags,
    load: () => import('../commands/restore-describe.ts'),
  })
}

function remove(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Delete restores',
    description:
      'Deletes the record of restores with their files in the bucket. What they restored stays in the cluster.',
    examples: [
      'lateen restore delete again',
      'lateen restore delete again copy --confirm',
      'lateen restore delete --selector test=yes',
    ],
    args: anyNames('restores'),
    flags: restoreDeleteFlags,
    load: () => import('../commands/restore-delete.ts'),
  })
}

const plan = command({
  name: 'plan',
  summary: 'Show what a restore would do',
  description:
    'Says of each object of a backup whether a restore would create, update or skip it or fail, and why; nothing is written. NAME alone plans an existing restore anew; with --from-backup or --from-schedule it is what the restore would be called. The API server is asked by dry runs, with the rights of the kubeconfig; what it cannot be asked, because the namespace or the kind does not exist yet, is checked against the schema and marked "not dry-run". The exit code is 0 if the restore would have no errors, and else 1.',
  examples: [
    'lateen restore plan --from-backup shop',
    'lateen restore plan --from-backup shop --namespace-mappings shop:shop-copy',
    'lateen restore plan --from-backup shop --existing-resource-policy update -o diff',
    'lateen restore plan again -o json',
    'lateen restore plan --from-backup shop --local ./backups',
  ],
  args: { usage: '[NAME]', min: 0, max: 1, names: 'restores' },
  flags: restorePlanFlags,
  load: () => import('../commands/restore-plan.ts'),
})

const logs = command({
  name: 'logs',
  summary: 'Show the log of a restore',
  description:
    'Shows the log of a restore as it is stored in the bucket. There is one once the restore has ended.',
  examples: ['lateen restore logs shop-20260102030405'],
  args: oneName('restores'),
  flags: logsFlags,
  load: () => import('../commands/restore-logs.ts'),
})

const cancel = command({
  name: 'cancel',
  summary: 'Stop restores',
  description:
    'Asks the server to stop restores. One that has not begun becomes Failed; one in progress is broken off, its operations are cancelled, and it becomes Failed; one that waits for operations of plugins, or is being finalized, has those cancelled and ends PartiallyFailed. What was restored until then stays in the cluster.',
  examples: [
    'lateen restore cancel again',
    'lateen restore cancel again copy --confirm --wait',
    'lateen restore cancel --all',
  ],
  args: anyNames('restores'),
  flags: restoreCancelFlags,
  load: () => import('../commands/restore-cancel.ts'),
})

/** `restore …` and the same commands under `create`, `get`, `describe` and `delete`. */
export const restoreCommands = {
  noun: {
    name: 'restore',
    summary: 'Work with restores',
    commands: [cancel, create('create'), remove('delete'), describe('describe'), get('get'), logs, plan],
  },
  underCreate: create('restore'),
  underGet: get('restores', ['restore']),
  underDescribe: describe('restores', ['restore']),
  underDelete: remove('restore', ['restores']),
} as const satisfies Record<string, CommandSpec>
