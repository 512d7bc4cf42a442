import { randomUUID } from 'node:crypto'
import type { KubeObject, Unstructured } from '@lateen/kube'
import type { NamedRule, Rights } from '../../packages/cli/src/install/cluster-role.ts'
import {
  clusterRules,
  namespaceRules,
  rightsName,
  rightsObjects,
} from '../../packages/cli/src/install/cluster-role.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'

/** A user that may do what a role says, and nothing that everybody may. */
export interface RoleUser {
  readonly name: string
  readonly kubeconfig: string
}

/** Takes the rights away that every user has, so that only roles count. The cluster's own parts keep theirs. */
export async function takeCommonRights(cluster: Cluster): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const subjects = [
    { apiGroup, kind: 'Group', name: 'system:serviceaccounts' },
    { apiGroup, kind: 'User', name: 'system:kube-controller-manager' },
    { apiGroup, kind: 'User', name: 'system:kube-scheduler' },
  ]
  for (const name of ['system:discovery', 'system:basic-user', 'system:public-info-viewer']) {
    const patch = ['--type=merge', '-p', JSON.stringify({ subjects })]
    await cluster.kubectl(['patch', 'clusterrolebinding', name, ...patch])
  }
}

/** Gives a user the roles of an installation, but for the rules left out, and waits until the API server knows them. */
export async function userWith(
  cluster: Cluster,
  options: {
    namespace: string
    user: string
    rights: Rights
    without?: readonly string[]
    hidden?: readonly string[]
  },
): Promise<RoleUser> {
  const { namespace, user, rights, without = [], hidden = [] } = options
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }]
  // Allows what nobody asks for. Roles of the same name, with other rules, were there before: only this shows that these are known.
  const mark = { group: 'example.dev', resource: `marks-${randomUUID()}` }
  const marked = (verb: string) => ({ apiGroups: [mark.group], resources: [mark.resource], verbs: [verb] })
  const items = rightsObjects(rights, { namespace, serviceAccountName: 'velero' }).map(object => {
    const { kind } = object as { kind: string }
    if (kind.endsWith('Binding')) return { ...object, subjects }
    const isWide = kind === 'ClusterRole'
    const rules = (isWide ? clusterRules(rights) : namespaceRules)
      .filter(({ id }) => !without.includes(id))
      .map(each => (isWide ? withoutResources(each, hidden) : each).rule)
    return { ...object, rules: [...rules, marked(isWide ? 'see-wide' : 'see-own')] }
  })
  await forgetRoles(cluster, namespace)
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['create', '-f', '-'], { stdin })
  await untilAllowed(cluster, user, { ...mark, verb: 'see-wide' })
  await untilAllowed(cluster, user, { ...mark, verb: 'see-own', namespace })
  return { name: user, kubeconfig: await cluster.kubeconfigFor(user) }
}

/** Removes what `userWith` made. */
export async function forgetRoles(cluster: Cluster, namespace: string): Promise<void> {
  const wide = rightsName(namespace)
  await cluster.kubectl(['delete', '--ignore-not-found', `clusterrole/${wide}`, `clusterrolebinding/${wide}`])
  await cluster.kubectl([
    'delete',
    '-n',
    namespace,
    '--ignore-not-found',
    'role/lateen',
    'rolebinding/lateen',
  ])
}

/** What somebody leaves of a role who does not want these objects in backups. */
function withoutResources(named: NamedRule, hidden: readonly string[]): NamedRule {
  const { resources } = named.rule
  if (resources === undefined || !named.rule.verbs.includes('list')) return named
  return { ...named, rule: { ...named.rule, resources: resources.filter(name => !hidden.includes(name)) } }
}

const label = { part: 'rights' }

export function hasLabel({ metadata }: KubeObject): boolean {
  return metadata.labels?.part === label.part
}

/** Objects of every sort that a role has to think of, in a namespace that exists and in the cluster. */
function contents(namespace: string): Unstructured[] {
  const inside = (name: string) => ({ name, namespace, labels: label })
  const wide = (name: string) => ({ name: `${namespace}-${name}`, labels: label })
  const rbac = 'rbac.authorization.k8s.io/v1'
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
  const subjects = [{ kind: 'ServiceAccount', name: 'worker', namespace }]
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: inside('plain'), data: { text: 'as it was' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: inside('plain'), stringData: { text: 'as it was' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inside('worker') },
    { apiVersion: 'v1', kind: 'Service', metadata: inside('plain'), spec: { ports: [{ port: 80 }] } },
    { apiVersion: rbac, kind: 'Role', metadata: inside('all'), rules: everything },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: inside('all'),
      roleRef: roleRef('Role', 'all'),
      subjects,
    },
    { apiVersion: rbac, kind: 'ClusterRole', metadata: wide('all'), rules: everything },
    {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: wide('all'),
      roleRef: roleRef('ClusterRole', 'cluster-admin'),
      subjects,
    },
    deployment(inside('plain')),
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: wide('disk'),
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        hostPath: { path: '/nowhere' },
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: '',
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: inside('disk'),
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: '',
        volumeName: `${namespace}-disk`,
      },
    },
  ]
}

function deployment(metadata: Unstructured['metadata']): Unstructured {
  const labels = { app: 'plain', ...label }
  const containers = [{ name: 'main', image: 'nowhere/none:1' }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'plain' } },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

export const customGroup = 'rights.example.com'

/** A kind with a status, and an object of it. */
function customKind(namespace: string): { definition: Unstructured; object: Unstructured } {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    definition: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `sails.${customGroup}`, labels: label },
      spec: {
        group: customGroup,
        names: { kind: 'Sail', plural: 'sails', singular: 'sail', listKind: 'SailList' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
            subresources: { status: {} },
          },
        ],
      },
    },
    object: {
      apiVersion: `${customGroup}/v1`,
      kind: 'Sail',
      metadata: { name: 'lateen', namespace, labels: label },
      spec: { area: 40 },
    },
  }
}

/** Which kinds there are of. */
export function kindsOfContents(namespace: string): string[] {
  const { definition, object } = customKind(namespace)
  return [...contents(namespace), definition, object].map(({ kind = '' }) => kind)
}

/** Makes objects of every sort that a role has to think of. The namespace exists. */
export async function createContents(cluster: Cluster, namespace: string): Promise<void> {
  const { definition, object } = customKind(namespace)
  const create = (...items: object[]) =>
    cluster.kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
  await create(definition, ...contents(namespace))
  await untilEstablished(cluster, `sails.${customGroup}`)
  await create(object)
  const sail = ['sail', 'lateen', '-n', namespace]
  await cluster.kubectl([
    'patch',
    ...sail,
    '--subresource=status',
    '--type=merge',
    '-p',
    '{"status":{"wind":7}}',
  ])
  await cluster.kubectl([
    'wait',
    '--for=jsonpath={.status.phase}=Bound',
    '--timeout=60s',
    '-n',
    namespace,
    'pvc/disk',
  ])
  await cluster.kubectl([
    ...[
      'wait',
      '--for=jsonpath={.status.observedGeneration}=1',
      '--timeout=60s',
      '-n',
      namespace,
      'deploy/plain',
    ],
  ])
}

/** Removes all of it, and the namespace, and waits until it is gone. */
export async function removeContents(cluster: Cluster, namespace: string): Promise<void> {
  const remove = (...args: string[]) => cluster.kubectl(['delete', ...args, '--timeout=120s'])
  const kinds = 'clusterroles,clusterrolebindings,persistentvolumes,customresourcedefinitions'
  await Promise.all([remove('namespace', namespace), remove(kinds, '-l', `part=${label.part}`)])
}

/** A pod that the API server believes to run; no node does. */
export async function createPod(
  cluster: Cluster,
  { namespace, name, annotations = {} }: { namespace: string; name: string; annotations?: object },
): Promise<void> {
  const containers = [{ name: 'main', image: 'nowhere/none:1' }]
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations },
    spec: { containers, automountServiceAccountToken: false },
  }
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(pod) })
  const running = {
    name: 'main',
    ready: true,
    restartCount: 0,
    image: 'nowhere/none:1',
    imageID: '',
    state: { running: {} },
  }
  const status = { phase: 'Running', containerStatuses: [running] }
  await cluster.kubectl([
    'patch',
    'pod',
    name,
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  ])
}
