import type { BackupSpec } from '@lateen/api'
import type { SeededRandom } from '../../tools/test/seeded-random.ts'
import type { PoliciesOfBackup } from './compared-paths.ts'

/** Filters of a backup, and the resource policies that it points to, if any. */
export interface FilterCase {
  spec: BackupSpec
  policies?: PoliciesOfBackup
}

const namespaced = [
  ...[
    'configmaps',
    'secrets',
    'services',
    'svc',
    'pods',
    'persistentvolumeclaims',
    'pvc',
    'serviceaccounts',
    'sa',
  ],
  ...['deployments', 'deployments.apps', 'deploy', 'replicasets', 'statefulsets.apps', 'jobs', 'jobs.batch'],
  ...[
    'sails',
    'sails.scene.lateen.dev',
    'sail',
    'roles',
    'rolebindings.rbac.authorization.k8s.io',
    'endpoints',
  ],
  ...[
    'endpointslices',
    'networkpolicies',
    'events',
    '*.apps',
    '*.scene.lateen.dev',
    'nothings',
    'nothings.nowhere.io',
  ],
]

const clusterScoped = [
  ...[
    'persistentvolumes',
    'pv',
    'clusterroles',
    'clusterrolebindings',
    'storageclasses',
    'sc',
    'namespaces',
    'ns',
  ],
  ...[
    'customresourcedefinitions',
    'crd',
    'harbours',
    'harbours.scene.lateen.dev',
    'priorityclasses',
    'nodes',
  ],
  ...['*.rbac.authorization.k8s.io', 'nothings'],
]

const namespaceNames = ['app-red', 'app-green', 'data-blue', 'default', 'kube-system', 'no-such-namespace']

/** All of them match a namespace of the scene. */
const namespacePatterns = ['app-*', '*-blue', 'app-???', '[ad]*-*', 'data-[a-c]lue']

/** Filters as a user might write them: mostly valid, some contradictory. Old and new ones are mixed rarely. */
export function randomCase(random: SeededRandom): FilterCase {
  const policies = random.chance(0.2) ? randomPolicies(random) : undefined
  const style = policies === undefined && random.chance(0.45) ? 'old' : 'new'
  const types = style === 'old' || random.chance(0.03) ? oldFilters(random) : {}
  const scopes = style === 'new' || random.chance(0.03) ? scopedFilters(random) : {}
  const spec = {
    ...namespaceFilters(random),
    ...types,
    ...scopes,
    // Together with selectors, filter policies mean something else to Velero when all namespaces are taken.
    ...(policies === undefined && selectors(random)),
    ...(random.chance(0.15) && { orderedResources: { configmaps: 'app-red/plain-2,app-green/plain-1' } }),
  }
  return policies === undefined ? { spec } : { spec, policies }
}

/** `length` of the values, or as many as there are. */
function some<T>(random: SeededRandom, values: readonly T[], length: number): T[] {
  return random.shuffle(values).slice(0, length)
}

function namespaceFilters(random: SeededRandom): BackupSpec {
  const named = () => some(random, [...namespaceNames, ...namespacePatterns], random.integer(1, 4))
  const included = random.chance(0.1) ? ['*'] : named()
  return {
    ...(random.chance(0.65) && { includedNamespaces: included }),
    ...(random.chance(0.3) && { excludedNamespaces: named().slice(0, 2) }),
  }
}

function oldFilters(random: SeededRandom): BackupSpec {
  const types = [...namespaced, ...clusterScoped]
  return {
    ...(random.chance(0.6) && { includedResources: random.chance(0.1) ? ['*'] : some(random, types, 5) }),
    ...(random.chance(0.5) && { excludedResources: some(random, types, 3) }),
    ...(random.chance(0.5) && { includeClusterResources: random.chance(0.5) }),
  }
}

function scopedFilters(random: SeededRandom): BackupSpec {
  const listOf = (types: readonly string[], length: number) =>
    random.chance(0.15) ? ['*'] : some(random, types, random.integer(1, length))
  // A name of the other scope now and then, which means nothing there.
  const inNamespaces = random.chance(0.9) ? namespaced : clusterScoped
  const inCluster = random.chance(0.9) ? clusterScoped : namespaced
  return {
    ...(random.chance(0.45) && { includedNamespaceScopedResources: listOf(inNamespaces, 6) }),
    ...(random.chance(0.4) && { excludedNamespaceScopedResources: listOf(inNamespaces, 3) }),
    ...(random.chance(0.45) && { includedClusterScopedResources: listOf(inCluster, 4) }),
    ...(random.chance(0.4) && { excludedClusterScopedResources: listOf(inCluster, 3) }),
  }
}

type Selector = NonNullable<BackupSpec['labelSelector']>

function selectors(random: SeededRandom): BackupSpec {
  if (random.chance(0.03)) return { labelSelector: selector(random), orLabelSelectors: [selector(random)] }
  if (random.chance(0.3)) return { labelSelector: selector(random) }
  if (random.chance(0.2)) {
    return { orLabelSelectors: Array.from({ length: random.integer(1, 4) }, () => selector(random)) }
  }
  return {}
}

function selector(random: SeededRandom): Selector {
  const tier = ['web', 'db', 'none']
  const env = ['prod', 'test']
  const expressions = [
    { key: 'tier', operator: 'In', values: some(random, tier, 2) },
    { key: 'env', operator: 'NotIn', values: some(random, env, 1) },
    { key: 'tier', operator: 'Exists' },
    { key: 'env', operator: 'DoesNotExist' },
  ]
  const labels = [
    { tier: random.pick(tier) },
    { env: random.pick(env) },
    { tier: 'web', env: random.pick(env) },
  ]
  return {
    ...(random.chance(0.6)
      ? { matchLabels: random.pick(labels) as Record<string, string> }
      : {
          matchExpressions: some(random, expressions, random.integer(1, 3)),
        }),
  }
}

function randomPolicies(random: SeededRandom): PoliciesOfBackup {
  return random.chance(0.5)
    ? { version: 'v1', includeExcludePolicy: includeExcludePolicy(random) }
    : { version: 'v1', ...filterPolicies(random) }
}

function includeExcludePolicy(random: SeededRandom): PoliciesOfBackup['includeExcludePolicy'] & object {
  const inNamespaces = some(
    random,
    ['configmaps', 'secrets', 'sails.scene.lateen.dev', 'deployments.apps'],
    4,
  )
  const inCluster = some(random, ['storageclasses', 'persistentvolumes', 'harbours', 'priorityclasses'], 4)
  return {
    ...(random.chance(0.6) && { includedNamespaceScopedResources: inNamespaces.slice(0, 2) }),
    ...(random.chance(0.6) && { excludedNamespaceScopedResources: inNamespaces.slice(2) }),
    ...(random.chance(0.6) && { includedClusterScopedResources: inCluster.slice(0, 2) }),
    ...(random.chance(0.6) && { excludedClusterScopedResources: inCluster.slice(2) }),
  }
}

function filterPolicies(random: SeededRandom): object {
  const kinds = ['secrets', 'configmaps', 'sails', 'persistentvolumeclaims', 'serviceaccounts']
  const [first = '', second = '', ...rest] = random.shuffle(kinds)
  const filters = [
    { kinds: [first], names: ['plain-*'], excludedNames: ['plain-2'] },
    {
      kinds: [second, ...rest.slice(0, random.integer(0, 2))],
      labelSelector: { matchLabels: { tier: 'web' } },
    },
    ...(random.chance(0.5) ? [{ kinds: ['*'] }] : []),
  ]
  const namespaces = random.pick([['app-*'], ['data-blue'], ['app-red', '*-blue']])
  const clusterFilters = [{ kinds: ['clusterroles'], names: ['scene:*'] }]
  return {
    namespacedFilterPolicies: [{ namespaces, resourceFilters: filters }],
    ...(random.chance(0.4) && { clusterScopedFilterPolicy: { resourceFilters: clusterFilters } }),
  }
}
