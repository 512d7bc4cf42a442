import type { NamedRule } from './cluster-role.ts'

/** The account of node agents and of their movers, where the server's is not allowed everything. */
export const nodeAgentAccountName = 'lateen-node-agent'

/** What node agents, and movers, which run under the same account, may do in the whole cluster. Purposes end a sentence that begins with "Node agents need it". */
export const nodeAgentClusterRules: readonly NamedRule[] = [
  {
    id: 'agent-node',
    purpose: 'to learn the labels and the system of their node',
    rule: { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
  },
  {
    id: 'agent-pods',
    purpose: 'to find the pods whose volumes are backed up, and to follow those that wait for theirs',
    rule: { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  },
  {
    id: 'agent-volumes',
    purpose: 'to find the folder that the kubelet keeps a claim in',
    rule: {
      apiGroups: [''],
      resources: ['persistentvolumeclaims', 'persistentvolumes'],
      verbs: ['get'],
    },
  },
  {
    id: 'agent-rebind',
    purpose: 'to find the volumes that were restored, and to give them to their claims',
    rule: {
      apiGroups: [''],
      resources: ['persistentvolumeclaims', 'persistentvolumes'],
      verbs: ['list', 'patch'],
    },
  },
  {
    id: 'agent-storage-classes',
    purpose: 'to learn when a volume is made, and where it may be',
    rule: { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['get'] },
  },
  {
    id: 'agent-snapshots',
    purpose:
      'to take snapshots over from where they were taken, and to remove them when their contents are moved',
    rule: {
      apiGroups: ['snapshot.storage.k8s.io'],
      resources: ['volumesnapshots', 'volumesnapshotcontents'],
      verbs: ['get', 'create', 'patch', 'delete'],
    },
  },
]

/** The same for the namespace of the installation. */
export const nodeAgentNamespaceRules: readonly NamedRule[] = [
  {
    id: 'agent-moves',
    purpose: 'to follow what is to be backed up and restored, and to say how far it is',
    rule: {
      apiGroups: ['velero.io'],
      resources: ['podvolumebackups', 'podvolumerestores', 'datauploads', 'datadownloads'],
      verbs: ['get', 'list', 'watch', 'patch'],
    },
  },
  {
    id: 'agent-repositories',
    purpose: 'to find the repository of a namespace, and the location that it is in',
    rule: {
      apiGroups: ['velero.io'],
      resources: ['backuprepositories', 'backupstoragelocations'],
      verbs: ['get', 'list'],
    },
  },
  {
    id: 'agent-new-repositories',
    purpose: 'to have the repository of a namespace made whose first snapshot is moved',
    rule: { apiGroups: ['velero.io'], resources: ['backuprepositories'], verbs: ['create'] },
  },
  {
    id: 'agent-credentials',
    purpose: 'to read the credentials of locations and the password of repositories',
    rule: { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  },
  {
    id: 'agent-configuration',
    purpose: 'to read their settings',
    rule: { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  },
  {
    id: 'agent-daemonset',
    purpose: 'to make movers after their own DaemonSet',
    rule: { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get'] },
  },
  {
    id: 'agent-movers',
    purpose: 'to start movers, and to remove them',
    rule: { apiGroups: [''], resources: ['pods'], verbs: ['create', 'delete'] },
  },
  {
    id: 'agent-claims',
    purpose: 'to have volumes made that are read from snapshots, or restored, and to remove their claims',
    rule: { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['create', 'delete'] },
  },
  {
    id: 'agent-copies',
    purpose: 'to copy Secrets and ConfigMaps that a driver needs beside its claims, and to remove them',
    rule: {
      apiGroups: [''],
      resources: ['secrets', 'configmaps'],
      verbs: ['list', 'create', 'patch', 'delete'],
    },
  },
  {
    id: 'agent-logs',
    purpose: 'to tell why a mover has failed',
    rule: { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  },
  {
    id: 'agent-events',
    purpose: 'to tell, and to hear, how far a mover is',
    rule: { apiGroups: [''], resources: ['events'], verbs: ['list', 'watch', 'create', 'patch'] },
  },
]
