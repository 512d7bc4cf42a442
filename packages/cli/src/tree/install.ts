import { serverRights } from '../install/cluster-role.ts'
import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

const boundless = '0 means none.'

export const installFlags = {
  apply: {
    type: 'boolean',
    help: 'Accepted for Velero scripts: objects are always applied, never only created.',
  },
  'backup-location-config': {
    type: 'map',
    help: "The provider's settings for the default backup location, as key1=value1,key2=value2.",
  },
  'backup-repository-configmap': {
    type: 'string',
    help: 'ConfigMap with settings of backup repositories, for server and node agent.',
  },
  bucket: { type: 'string', help: 'Bucket of the default backup location.' },
  cacert: {
    type: 'string',
    help: 'File with a certificate bundle for TLS connections to the object store.',
  },
  'concurrent-backups': { type: 'integer', help: 'How many backups the server may run at the same time.' },
  'crds-only': { type: 'boolean', help: 'Only the CustomResourceDefinitions.' },
  'csi-snapshot-early-frequent-polling': {
    type: 'boolean',
    help: 'Have the server ask for the state of CSI snapshots often at first.',
  },
  'default-repo-maintain-frequency': {
    type: 'duration',
    help: 'How often backup repositories are maintained.',
  },
  'default-snapshot-move-data': { type: 'boolean', help: 'Have the server move snapshot data by default.' },
  'default-volumes-to-fs-backup': {
    type: 'boolean',
    help: 'Have the server back up all volumes from the file system by default. Needs --use-node-agent.',
  },
  'disable-informer-cache': { type: 'boolean', help: 'Have restores read objects without a cache.' },
  'dry-run': { type: 'boolean', help: 'Print the objects and send nothing.' },
  'filesystem-host-path': {
    type: 'string',
    help: 'Folder of the nodes to keep backups in, for the provider filesystem. Server and node agents must see the same one: a single node, or a shared mount.',
  },
  'filesystem-pvc': {
    type: 'string',
    help: 'PersistentVolumeClaim, in the namespace, to keep backups in, for the provider filesystem.',
  },
  'garbage-collection-frequency': { type: 'duration', help: 'How often expired backups are removed.' },
  image: {
    type: 'string',
    help: 'Image of the server and node agent pods. Default: lateen of this version.',
  },
  'item-block-worker-count': { type: 'integer', help: 'How many workers back up items.' },
  'keep-latest-maintenance-jobs': {
    type: 'integer',
    help: 'Refused: the server reads it from the ConfigMap of --repo-maintenance-job-configmap.',
  },
  'kubelet-root-dir': {
    type: 'string',
    default: '/var/lib/kubelet',
    help: "The kubelet's folder on the nodes.",
  },
  'maintenance-job-cpu-limit': { type: 'string', help: 'Refused, as --keep-latest-maintenance-jobs is.' },
  'maintenance-job-cpu-request': { type: 'string', help: 'Refused, as --keep-latest-maintenance-jobs is.' },
  'maintenance-job-mem-limit': { type: 'string', help: 'Refused, as --keep-latest-maintenance-jobs is.' },
  'maintenance-job-mem-request': { type: 'string', help: 'Refused, as --keep-latest-maintenance-jobs is.' },
  'no-default-backup-location': { type: 'boolean', help: 'Without a default backup location.' },
  'no-secret': {
    type: 'boolean',
    help: 'Without a Secret of credentials; needed when --secret-file is not given.',
  },
  'node-agent-configmap': { type: 'string', help: 'ConfigMap with settings of the node agent.' },
  'node-agent-disable-host-path': {
    type: 'boolean',
    help: 'Do not mount the pod volumes of the node into the node agent. File system backups need the mount.',
  },
  'node-agent-pod-cpu-limit': {
    type: 'string',
    default: '0',
    help: `CPU limit of the node agent. ${boundless}`,
  },
  'node-agent-pod-cpu-request': {
    type: 'string',
    default: '0',
    help: `CPU request of the node agent. ${boundless}`,
  },
  'node-agent-pod-mem-limit': {
    type: 'string',
    default: '0',
    help: `Memory limit of the node agent. ${boundless}`,
  },
  'node-agent-pod-mem-request': {
    type: 'string',
    default: '0',
    help: `Memory request of the node agent. ${boundless}`,
  },
  'node-agent-priority-class-name': { type: 'string', help: 'Priority class of the node agent pods.' },
  output: {
    type: 'choice',
    short: 'o',
    choices: ['json', 'yaml'],
    help: 'Format of what --dry-run prints: yaml (the default) or json.',
  },
  plugins: {
    type: 'list',
    help: 'Images of plugins to put into the server. The providers aws and filesystem are built in and need none.',
  },
  'pod-annotations': { type: 'map', help: 'Annotations of the pods, as key1=value1,key2=value2.' },
  'pod-labels': { type: 'map', help: 'Labels of the pods, as key1=value1,key2=value2.' },
  'pod-volume-operation-timeout': { type: 'duration', help: 'How long a file system backup may take.' },
  prefix: { type: 'string', help: 'Folder inside the bucket to keep everything under.' },
  'privileged-node-agent': {
    type: 'boolean',
    help: 'Run the node agent privileged; backups of block volumes need it.',
  },
  provider: {
    type: 'string',
    help: 'Provider of backup and volume storage. Built in for backups: aws, filesystem.',
  },
  replicas: {
    type: 'integer',
    default: '1',
    help: 'Servers to run; one works, and another takes over when it is gone.',
  },
  'repo-maintenance-job-configmap': { type: 'string', help: 'ConfigMap with settings of maintenance jobs.' },
  'restore-only': { type: 'boolean', help: 'A server that only restores.' },
  rights: {
    type: 'list',
    choices: ['cluster-admin', ...serverRights],
    help: 'What the server may do: cluster-admin (the default), or only what is listed of backup, hooks, restore, restore-roles and recreate. Node agents then have an account and roles of their own.',
  },
  'rights-api-groups': {
    type: 'list',
    help: "With --rights: API groups, beside those of Kubernetes, whose objects the server may reach. Default: all, which no role can tell from 'everything'.",
  },
  'sa-annotations': { type: 'map', help: 'Annotations of service accounts, as key1=value1,key2=value2.' },
  'schedule-skip-immediately': { type: 'boolean', help: 'New schedules wait for their first due time.' },
  'secret-file': {
    type: 'string',
    help: "File with the provider's credentials; it becomes the Secret cloud-credentials.",
  },
  'server-priority-class-name': { type: 'string', help: 'Priority class of the server pod.' },
  'service-account-name': {
    type: 'string',
    help: 'An existing service account for the pods. With it, none is made, and without --rights nothing is bound to a role.',
  },
  'snapshot-location-config': {
    type: 'map',
    help: "The provider's settings for the default volume snapshot location, as key1=value1,key2=value2.",
  },
  'uploader-type': {
    type: 'string',
    default: 'kopia',
    choices: ['kopia'],
    help: 'How volume data is stored: kopia.',
  },
  'use-node-agent': { type: 'boolean', help: 'With a node agent on Linux nodes.' },
  'use-node-agent-windows': { type: 'boolean', help: 'With a node agent on Windows nodes.' },
  'use-volume-snapshots': {
    type: 'boolean',
    default: 'true',
    help: 'With a default volume snapshot location.',
  },
  'velero-pod-cpu-limit': { type: 'string', default: '1000m', help: `CPU limit of the server. ${boundless}` },
  'velero-pod-cpu-request': {
    type: 'string',
    default: '500m',
    help: `CPU request of the server. ${boundless}`,
  },
  'velero-pod-mem-limit': {
    type: 'string',
    default: '512Mi',
    help: `Memory limit of the server. ${boundless}`,
  },
  'velero-pod-mem-request': {
    type: 'string',
    default: '128Mi',
    help: `Memory request of the server. ${boundless}`,
  },
  wait: {
    type: 'boolean',
    help: 'Wait until all pods of server and node agents run and serve, and say what keeps them from it.',
  },
  'wait-timeout': { type: 'duration', default: '5m', help: 'How long to wait with --wait.' },
} as const satisfies FlagSet

export const installCommand: CommandSpec = command({
  name: 'install',
  summary: 'Install the server into the cluster, or bring an installation up to date',
  description:
    "Puts CustomResourceDefinitions, namespace, rights, credentials, default locations, the server and, if wanted, node agents into the cluster. Objects that are there already, made by this program or by 'velero install', are changed into what is needed and keep what others have added; so the command can be repeated, and takes over a Velero. With --dry-run, prints the objects and sends nothing. With --crds-only, takes care of the CustomResourceDefinitions alone.",
  examples: [
    'lateen install --provider aws --bucket backups --secret-file ./credentials --backup-location-config region=eu-central-1 --wait',
    'lateen install --provider filesystem --bucket backups --filesystem-pvc backup-disk --no-secret --wait',
    'lateen install --dry-run -o yaml --provider aws --bucket backups --no-secret | kubectl diff -f -',
    'lateen install --crds-only',
  ],
  args: noArguments,
  flags: installFlags,
  load: () => import('../commands/install.ts'),
})
