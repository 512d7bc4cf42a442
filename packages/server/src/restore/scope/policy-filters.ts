import { compileGlob, type Glob } from '../../filters/glob.ts'
import { effectiveSelectors, type Selector } from '../../filters/label-selector.ts'
import { createNameFilter } from '../../filters/name-filter.ts'
import { isPattern } from '../../filters/namespace-scope.ts'
import {
  isCatchAll,
  type ResourceFilter,
  type ResourcePolicies,
} from '../../filters/policies/resource-policies.ts'
import type { ResolveResource } from '../../filters/resource-names.ts'
import type { ItemPlace } from './restore-scope.ts'

/** What a policy says about objects of one kind. */
export interface PolicyFilter {
  /** Of which one must match; none: all do. */
  readonly selectors: readonly Selector[]
  includesName(name: string): boolean
}

/** The fine-grained filters of a restore's resource policy, ready to be asked. */
export interface PolicyFilters {
  /** Whether the policy may say anything about objects in this place. */
  concern(place: ItemPlace): boolean
  /** Whether the policy leaves out all of this place, whatever kind its objects are of. */
  excludePlace(place: ItemPlace): boolean
  /** The filter for objects of a kind; undefined: the policy has none for them, and the restore's own selectors count. */
  find(place: ItemPlace, kind: string): PolicyFilter | 'excluded' | undefined
}

interface KindFilters {
  /** By type, as `resource.group`. */
  byType: ReadonlyMap<string, PolicyFilter>
  /**
   * By kind in lower case: the type of a kind may come into the cluster only with the restore, and objects tell
   * their kind.
   */
  byKind: ReadonlyMap<string, PolicyFilter>
  others: PolicyFilter | undefined
  /** Some kinds have no type in the cluster. */
  hasUnknown: boolean
}

type Policies = Pick<ResourcePolicies, 'clusterScopedFilters' | 'namespacedFilterPolicies'>

/**
 * Makes the fine-grained filters of a policy askable. In a namespace the policy that names it decides, else the first one with a
 * pattern that matches; kinds that it does not name are left out, unless it has a filter for all others. Without a
 * namespace only the kinds that are named are concerned. Throws InvalidSelectorError and InvalidPatternError for
 * policies that were not validated.
 */
export function createPolicyFilters(policies: Policies | undefined, resolve: ResolveResource): PolicyFilters {
  const cluster = kindFilters(policies?.clusterScopedFilters ?? [], resolve)
  const filtersOf = namespaceLookup(policies, resolve)
  return {
    concern: ({ namespace }) =>
      namespace === '' ? cluster.byKind.size > 0 : filtersOf(namespace) !== undefined,
    excludePlace({ groupResource, namespace }) {
      const filters = namespace === '' ? undefined : filtersOf(namespace)
      if (filters === undefined) return false
      return !filters.byType.has(groupResource) && filters.others === undefined && !filters.hasUnknown
    },
    find({ groupResource, namespace }, kind) {
      const filters = namespace === '' ? cluster : filtersOf(namespace)
      if (filters === undefined) return undefined
      const named = filters.byType.get(groupResource) ?? filters.byKind.get(kind.toLowerCase())
      return named ?? (namespace === '' ? undefined : (filters.others ?? 'excluded'))
    },
  }
}

function namespaceLookup(
  policies: Policies | undefined,
  resolve: ResolveResource,
): (namespace: string) => KindFilters | undefined {
  const byName = new Map<string, KindFilters>()
  const byPattern: { matches: Glob; filters: KindFilters }[] = []
  for (const { namespaces, resourceFilters } of policies?.namespacedFilterPolicies ?? []) {
    const filters = kindFilters(resourceFilters, resolve)
    for (const name of namespaces) {
      if (isPattern(name)) byPattern.push({ matches: compileGlob(name), filters })
      else byName.set(name, filters)
    }
  }
  return namespace => byName.get(namespace) ?? byPattern.find(({ matches }) => matches(namespace))?.filters
}

function kindFilters(filters: readonly ResourceFilter[], resolve: ResolveResource): KindFilters {
  const byType = new Map<string, PolicyFilter>()
  const byKind = new Map<string, PolicyFilter>()
  let others: PolicyFilter | undefined
  let hasUnknown = false
  for (const filter of filters) {
    const resolved = policyFilter(filter)
    if (isCatchAll(filter)) {
      others = resolved
      continue
    }
    for (const kind of filter.kinds.map(each => each.toLowerCase())) {
      const type = resolve(kind)
      hasUnknown ||= type === undefined
      byType.set(type?.groupResource ?? kind, resolved)
      if (!byKind.has(kind)) byKind.set(kind, resolved)
    }
  }
  return { byType, byKind, others, hasUnknown }
}

function policyFilter({ labelSelectors, names, excludedNames }: ResourceFilter): PolicyFilter {
  const byName = createNameFilter({ includes: names, excludes: excludedNames })
  return { selectors: effectiveSelectors(labelSelectors), includesName: name => byName.includes(name) }
}
