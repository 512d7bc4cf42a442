import type { RestoreSpec } from '@lateen/api'
import type { SeededRandom } from '../../tools/test/seeded-random.ts'
import { sceneNamespaces } from './backup-scene.ts'
import { randomModifiers, randomRestorePolicies } from './random-restore-settings.ts'

/** A restore, what it points to, and what happens in the cluster before it. */
export interface RestoreCase {
  spec: RestoreSpec
  modifiers?: object
  policies?: object
  changes: readonly ClusterChange[]
}

/** Something that a user does to an object: a merge patch, or its deletion. */
export interface ClusterChange {
  resource: string
  namespace: string
  name: string
  patch?: object
}

const namespaced = [
  ...['configmaps', 'cm', 'secrets', 'services', 'svc', 'pods', 'po', 'persistentvolumeclaims', 'pvc'],
  ...[
    'serviceaccounts',
    'sa',
    'deployments',
    'deployments.apps',
    'deploy',
    'replicasets',
    'jobs',
    'jobs.batch',
  ],
  ...['sails', 'sails.scene.lateen.dev', 'buoys', 'roles', 'rolebindings.rbac.authorization.k8s.io'],
  ...['endpoints', 'networkpolicies', 'cronjobs', '*.apps', '*.scene.lateen.dev', 'nothings', 'events'],
]

const clusterScoped = [
  ...['persistentvolumes', 'pv', 'clusterrolebindings', 'storageclasses', 'sc', 'namespaces'],
  ...['customresourcedefinitions', 'crd', 'harbours', 'priorityclasses'],
]

/** A restore as a user might want it, mostly into namespaces of its own, which `prefix` makes. */
export function randomRestore(random: SeededRandom, prefix: string): RestoreCase {
  const namespaceMapping = mapping(random, prefix)
  const modifiers = random.chance(0.4) ? randomModifiers(random) : undefined
  const policies = random.chance(0.2) ? randomRestorePolicies(random) : undefined
  const existingResourcePolicy = random.chance(0.6) ? 'update' : 'none'
  const types = typeFilters(random)
  // An update of a volume that is bound takes it away from its claim with Velero, or not, as the controllers are quicker or slower.
  const excludedResources = [...(types.excludedResources ?? []), 'persistentvolumes']
  return {
    spec: {
      ...namespaceFilters(random),
      ...types,
      ...(random.chance(0.7) && {
        existingResourcePolicy,
        ...(existingResourcePolicy === 'update' && { excludedResources }),
      }),
      ...(policies === undefined && selectors(random)),
      ...(namespaceMapping && { namespaceMapping }),
      ...(random.chance(0.6) && { includeClusterResources: random.chance(0.6) }),
      ...(random.chance(0.35) && { restoreStatus: statusFilters(random) }),
      ...(random.chance(0.6) && { preserveNodePorts: random.chance(0.5) }),
      ...(random.chance(0.4) && { restorePVs: random.chance(0.5) }),
    },
    ...(modifiers && { modifiers }),
    ...(policies && { policies }),
    changes: changes(random, namespaceMapping ?? {}),
  }
}

function some<T>(random: SeededRandom, values: readonly T[], most: number): T[] {
  return random.shuffle(values).slice(0, random.integer(1, most + 1))
}

/** Into new namespaces, into those of the case before, a part of them only, or back to where it was. */
function mapping(random: SeededRandom, prefix: string): Record<string, string> | undefined {
  if (random.chance(0.15)) return undefined
  const names = random.chance(0.8) ? sceneNamespaces : some(random, sceneNamespaces, 2)
  return Object.fromEntries(names.map(name => [name, `${prefix}-${name}`]))
}

function namespaceFilters(random: SeededRandom): RestoreSpec {
  const names = [
    'app-red',
    'app-green',
    'data-blue',
    'default',
    'no-such-namespace',
    'app-*',
    '*-blue',
    'app-???',
  ]
  return {
    ...(random.chance(0.4) && { includedNamespaces: random.chance(0.2) ? ['*'] : some(random, names, 3) }),
    ...(random.chance(0.25) && { excludedNamespaces: some(random, names, 1) }),
  }
}

function typeFilters(random: SeededRandom): RestoreSpec {
  const types = [...namespaced, ...clusterScoped]
  return {
    ...(random.chance(0.35) && { includedResources: random.chance(0.15) ? ['*'] : some(random, types, 9) }),
    ...(random.chance(0.35) && { excludedResources: some(random, types, 4) }),
  }
}

function statusFilters(random: SeededRandom): NonNullable<RestoreSpec['restoreStatus']> {
  const types = ['buoys', 'deployments.apps', 'pv', 'services', 'replicasets']
  return {
    ...(random.chance(0.8) && { includedResources: random.chance(0.4) ? ['*'] : types.slice(0, 3) }),
    ...(random.chance(0.3) && { excludedResources: types.slice(3) }),
  }
}

function selectors(random: SeededRandom): RestoreSpec {
  if (random.chance(0.04)) return { labelSelector: selector(random), orLabelSelectors: [selector(random)] }
  if (random.chance(0.25)) return { labelSelector: selector(random) }
  if (random.chance(0.2)) return { orLabelSelectors: [selector(random), selector(random)] }
  return {}
}

function selector(random: SeededRandom): NonNullable<RestoreSpec['labelSelector']> {
  const expressions = [
    { key: 'tier', operator: 'In', values: ['web', 'none'] },
    { key: 'env', operator: 'NotIn', values: ['prod'] },
    { key: 'tier', operator: 'Exists' },
    { key: 'env', operator: 'DoesNotExist' },
  ]
  return random.chance(0.5)
    ? {
        matchLabels: random.pick([{ tier: 'web' }, { env: 'prod' }, { tier: 'db' }]) as Record<
          string,
          string
        >,
      }
    : { matchExpressions: some(random, expressions, 2) }
}

const changeable: readonly { resource: string; name: string; patches: readonly object[] }[] = [
  {
    resource: 'configmaps',
    name: 'plain-1',
    patches: [{ data: { index: 'other', more: '1' } }, { data: null }],
  },
  {
    resource: 'configmaps',
    name: 'plain-2',
    patches: [{ metadata: { labels: { mine: 'yes', tier: null } } }],
  },
  { resource: 'secrets', name: 'plain-0', patches: [{ data: { password: 'b3RoZXI=' }, type: 'Opaque' }] },
  { resource: 'sails', name: 'plain-3', patches: [{ area: 99, nested: { list: [1, 2] } }] },
  { resource: 'buoys', name: 'lit', patches: [{ spec: { depth: null, name: 'x' } }] },
  { resource: 'deployments', name: 'web', patches: [{ spec: { paused: true, revisionHistoryLimit: 3 } }] },
  { resource: 'services', name: 'web', patches: [{ spec: { ports: [{ port: 81, protocol: 'TCP' }] } }] },
  {
    resource: 'serviceaccounts',
    name: 'captain',
    patches: [{ secrets: [{ name: 'own' }] }, { metadata: { annotations: { own: 'yes' } } }],
  },
  { resource: 'roles', name: 'scene:reader', patches: [{ rules: [rule('pods')] }] },
  { resource: 'rolebindings', name: 'scene:readers', patches: [{ subjects: [] }] },
  {
    resource: 'networkpolicies',
    name: 'closed',
    patches: [{ spec: { policyTypes: ['Ingress', 'Egress'] } }],
  },
  { resource: 'cronjobs', name: 'nightly', patches: [{ spec: { schedule: '@hourly' } }] },
  {
    resource: 'persistentvolumeclaims',
    name: 'pending',
    patches: [{ metadata: { labels: { mine: 'yes' } } }],
  },
  { resource: 'pods', name: 'db', patches: [{ metadata: { annotations: { own: 'yes' } } }] },
]

function rule(resource: string): object {
  return { apiGroups: [''], resources: [resource], verbs: ['get'] }
}

/** In the namespaces that the restore goes to, if they are there already. */
function changes(random: SeededRandom, mapped: Record<string, string>): ClusterChange[] {
  return some(random, changeable, 6).map(({ resource, name, patches }) => {
    const source = random.pick(sceneNamespaces)
    const change = { resource, name, namespace: mapped[source] ?? source }
    return random.chance(0.3) ? change : { ...change, patch: random.pick(patches) }
  })
}
