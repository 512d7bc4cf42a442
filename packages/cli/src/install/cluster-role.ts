import { apiGroups } from './api-groups.ts'
import { installMetadata } from './labels.ts'
import { nodeAgentAccountName, nodeAgentClusterRules, nodeAgentNamespaceRules } from './node-agent-role.ts'

/** What a server may be allowed to do; `rights.md` of the documentation says what each needs. */
export const serverRights = ['backup', 'hooks', 'restore', 'restore-roles', 'recreate'] as const
export type ServerRight = (typeof serverRights)[number]

/** A role that allows no more than what is named. */
export interface Rights {
  readonly grants: readonly ServerRight[]
  /** API groups beside Kubernetes' own whose objects are read and written. `*` stands for all, and with them for everything. */
  readonly apiGroups: readonly string[]
}

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

/** A rule and what it is there for. */
export interface NamedRule {
  readonly id: string
  /** Ends a sentence that begins with "The server needs it". */
  readonly purpose: string
  /** The right that it belongs to; absent where any needs it. */
  readonly right?: ServerRight
  readonly rule: PolicyRule
}

const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', '/version']

const snapshotGroups = ['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io']

/** Backups take snapshots, restores read them, and whoever deletes a backup deletes them. */
const snapshotRules: readonly NamedRule[] = [
  {
    id: 'snapshots',
    purpose: 'to take snapshots through CSI, and to remove the objects that stand for them',
    rule: {
      apiGroups: snapshotGroups,
      resources: [
        'volumesnapshots',
        'volumesnapshotcontents',
        'volumegroupsnapshots',
        'volumegroupsnapshotcontents',
      ],
      verbs: ['create', 'patch', 'delete'],
    },
  },
  {
    id: 'snapshot-status',
    purpose: 'to say which snapshot in the storage an object stands for that is restored or deleted',
    rule: {
      apiGroups: snapshotGroups,
      resources: ['volumesnapshotcontents/status', 'volumegroupsnapshotcontents/status'],
      verbs: ['patch'],
    },
  },
  {
    id: 'snapshot-classes',
    purpose: 'to bring the classes of snapshots along with backups of other clusters',
    rule: { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshotclasses'], verbs: ['create'] },
  },
  {
    id: 'lost-volumes',
    purpose: 'to have volumes go that a node agent made to move data with, and that is gone itself',
    rule: { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'] },
  },
]

/** The rules for the whole cluster. */
export function clusterRules({ grants, apiGroups: groups }: Rights): NamedRule[] {
  const every = objectsOf(groups)
  const rules: NamedRule[] = [
    {
      id: 'discovery',
      purpose: 'to learn which kinds the cluster has, and their schemas',
      rule: { nonResourceURLs: discoveryPaths, verbs: ['get'] },
    },
    ...every.map(part => ({
      id: `read-${part.name}`,
      purpose: 'to read what is backed up, and what is there when something is restored',
      rule: { apiGroups: part.apiGroups, resources: part.resources, verbs: ['get', 'list'] },
    })),
    ...snapshotRules,
    {
      id: 'exec',
      right: 'hooks',
      purpose: 'to run hooks in containers',
      rule: { apiGroups: [''], resources: ['pods/exec'], verbs: ['get', 'create'] },
    },
    {
      id: 'watch-pods',
      right: 'restore',
      purpose: 'to wait for restored pods whose hooks are to run',
      rule: { apiGroups: [''], resources: ['pods'], verbs: ['watch'] },
    },
    ...every.map(part => ({
      id: `write-${part.name}`,
      right: 'restore' as const,
      purpose: 'to create what is restored, and to change what is there',
      rule: { apiGroups: part.apiGroups, resources: part.writable, verbs: ['create', 'patch'] },
    })),
    {
      id: 'status',
      right: 'restore',
      purpose: 'to restore the status of objects',
      rule: {
        apiGroups: every.flatMap(part => part.apiGroups),
        resources: ['*/status'],
        verbs: ['update'],
      },
    },
    {
      id: 'grant',
      right: 'restore-roles',
      purpose: 'to restore roles and bindings that allow more than the server itself may do',
      rule: {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles', 'roles'],
        verbs: ['bind', 'escalate'],
      },
    },
    ...every.map(part => ({
      id: `delete-${part.name}`,
      right: 'recreate' as const,
      purpose: 'to replace what cannot be changed when a restore asks for it',
      rule: { apiGroups: part.apiGroups, resources: part.writable, verbs: ['delete'] },
    })),
  ]
  return rules.filter(({ right }) => right === undefined || grants.includes(right))
}

/** The rules for the server's own namespace. They hold whatever the others are narrowed to. */
export const namespaceRules: readonly NamedRule[] = [
  {
    id: 'own-kinds',
    purpose: 'to follow the objects that tell it what to do, and to say in them how far it is',
    rule: {
      apiGroups: ['velero.io'],
      resources: ['*'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
  },
  {
    id: 'own-configuration',
    purpose: 'to read its settings, policies and modifiers, and to tell what it has found in buckets',
    rule: {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'list', 'watch', 'create', 'patch'],
    },
  },
  {
    id: 'own-credentials',
    purpose:
      'to read the credentials of locations, and to make the password of repositories where there is none',
    rule: { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create'] },
  },
  {
    id: 'own-jobs',
    purpose: 'to have repositories of volume data maintained',
    rule: { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'watch', 'create', 'delete'] },
  },
  {
    id: 'own-moves',
    purpose: 'to remove what a node agent made to move data with, and that is gone itself',
    rule: {
      apiGroups: [''],
      resources: ['pods', 'persistentvolumeclaims', 'secrets', 'configmaps'],
      verbs: ['list', 'delete'],
    },
  },
  {
    id: 'own-events',
    purpose: 'to record events about its objects',
    rule: { apiGroups: [''], resources: ['events'], verbs: ['create'] },
  },
  {
    id: 'own-lease',
    purpose: 'to take turns with other replicas',
    rule: {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['get', 'create', 'update'],
    },
  },
]

interface ObjectPart {
  readonly name: string
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly writable: readonly string[]
}

/** Where objects of backups are. In the core group resources are named, because a wildcard would take in tokens, proxies and exec. */
function objectsOf(groups: readonly string[]): ObjectPart[] {
  if (groups.includes('*')) return [{ name: 'all', apiGroups: ['*'], resources: ['*'], writable: ['*'] }]
  const named = [...new Set([...apiGroups.builtIn, ...groups])].sort()
  return [
    { name: 'core', apiGroups: [''], resources: apiGroups.core, writable: apiGroups.coreRestored },
    { name: 'groups', apiGroups: named, resources: ['*'], writable: ['*'] },
  ]
}

/** Named after the namespace, as Velero's binding is, so that two installations do not meet. */
export function rightsName(namespace: string): string {
  return namespace === 'velero' ? 'lateen' : `lateen-${namespace}`
}

/** The same for the roles of node agents. */
export function nodeAgentRightsName(namespace: string): string {
  return namespace === 'velero' ? nodeAgentAccountName : `${nodeAgentAccountName}-${namespace}`
}

/** ClusterRole, Role and their bindings for a server's service account. */
export function rightsObjects(
  rights: Rights,
  { namespace, serviceAccountName }: { namespace: string; serviceAccountName: string },
): object[] {
  return roleObjects(
    { wide: rightsName(namespace), own: 'lateen' },
    { cluster: clusterRules(rights), namespace: namespaceRules },
    { namespace, serviceAccountName },
  )
}

/** The same for the account of node agents. */
export function nodeAgentRightsObjects(account: { namespace: string; serviceAccountName: string }): object[] {
  return roleObjects(
    { wide: nodeAgentRightsName(account.namespace), own: nodeAgentAccountName },
    { cluster: nodeAgentClusterRules, namespace: nodeAgentNamespaceRules },
    account,
  )
}

/** ClusterRole, Role and their bindings. */
function roleObjects(
  names: { wide: string; own: string },
  rules: { cluster: readonly NamedRule[]; namespace: readonly NamedRule[] },
  { namespace, serviceAccountName }: { namespace: string; serviceAccountName: string },
): object[] {
  const subjects = [{ kind: 'ServiceAccount', name: serviceAccountName, namespace }]
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const wide = installMetadata(names.wide)
  const own = installMetadata(names.own, namespace)
  const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
  return [
    { apiVersion, kind: 'ClusterRole', metadata: wide, rules: rulesOf(rules.cluster) },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: wide,
      roleRef: roleRef('ClusterRole', wide.name),
      subjects,
    },
    { apiVersion, kind: 'Role', metadata: own, rules: rulesOf(rules.namespace) },
    { apiVersion, kind: 'RoleBinding', metadata: own, roleRef: roleRef('Role', own.name), subjects },
  ]
}

function rulesOf(named: readonly NamedRule[]): PolicyRule[] {
  return named.map(({ rule }) => rule)
}
