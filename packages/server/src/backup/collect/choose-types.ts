import type { DiscoveredResource } from '@lateen/kube'
import { canBackUp } from '../../filters/resource-names.ts'
import type { ResourceScope } from '../../filters/scope.ts'
import { type GroupResource, groupResource } from '../../item/item.ts'

/** A type to collect objects of, at one version. */
export interface CollectedType {
  readonly type: DiscoveredResource
  readonly groupResource: GroupResource
  /** The server prefers this version of it. */
  readonly preferred: boolean
}

/** What `chooseTypes` goes by. */
export interface TypeFacts {
  /** All versions of all resources, in the server's order. */
  resources: readonly DiscoveredResource[]
  scope: Pick<ResourceScope, 'collects'>
  /** Other versions than the preferred ones, too. */
  allVersions: boolean
}

/**
 * Resources that two groups serve, being the same objects: the first that is collected stands for both. A second version
 * of the same group is left out as well, which is what Velero does.
 */
const cohabitants: Readonly<Record<string, readonly string[]>> = {
  deployments: ['extensions', 'apps'],
  daemonsets: ['extensions', 'apps'],
  replicasets: ['extensions', 'apps'],
  networkpolicies: ['extensions', 'networking.k8s.io'],
  events: ['', 'events.k8s.io'],
}

/**
 * The types that a backup collects, in the order in which their objects are backed up: the core group first, in it pods,
 * claims and volumes, then the other groups as the server lists them, `extensions` last.
 */
export function chooseTypes({ resources, scope, allVersions }: TypeFacts): CollectedType[] {
  const preferred = firstOfEach(resources)
  const offered = allVersions ? resources : resources.filter(resource => preferred.has(resource))
  const seen = new Set<string>()
  return inOrder(offered.filter(canBackUp))
    .map(type => ({ type, groupResource: groupResource(type), preferred: preferred.has(type) }))
    .filter(({ type, groupResource: name }) => {
      if (!scope.collects({ groupResource: name, namespaced: type.namespaced })) return false
      if (!cohabitants[type.plural]?.includes(type.group)) return true
      const first = !seen.has(type.plural)
      seen.add(type.plural)
      return first
    })
}

/** Of each resource the version that the server prefers: the first one listed. */
function firstOfEach(resources: readonly DiscoveredResource[]): Set<DiscoveredResource> {
  const first = new Map<GroupResource, DiscoveredResource>()
  for (const resource of resources) {
    const name = groupResource(resource)
    if (!first.has(name)) first.set(name, resource)
  }
  return new Set(first.values())
}

const coreFirst = ['pods', 'persistentvolumeclaims', 'persistentvolumes']

function inOrder(types: readonly DiscoveredResource[]): DiscoveredResource[] {
  return types.toSorted((a, b) => rankOf(a) - rankOf(b))
}

function rankOf({ group, plural }: DiscoveredResource): number {
  if (group === 'extensions') return coreFirst.length + 2
  if (group !== '') return coreFirst.length + 1
  const rank = coreFirst.indexOf(plural)
  return rank < 0 ? coreFirst.length : rank
}
