import type { GroupResource } from '../item/item.ts'
import { compileGlob, type Glob } from './glob.ts'
import { effectiveSelectors } from './label-selector.ts'
import { createNameFilter } from './name-filter.ts'
import { isPattern } from './namespace-scope.ts'
import { isCatchAll, type ResourceFilter, type ResourcePolicies } from './policies/resource-policies.ts'
import type { ResolveResource } from './resource-names.ts'
import type { BackupScope, FineFilter, ScopeWarning } from './scope.ts'

/** The filters of a policy, ready to be asked, and what is odd about them. */
export interface FineFilters {
  fineFilter: BackupScope['fineFilter']
  /** Some namespaces have filters of their own. */
  readonly byNamespace: boolean
  /** The types that filters for namespaces name. */
  readonly namespacedTypes: readonly GroupResource[]
  readonly warnings: readonly ScopeWarning[]
}

interface KindFilters {
  byType: ReadonlyMap<GroupResource, FineFilter>
  others: FineFilter | undefined
}

type PolicyFilters = Pick<ResourcePolicies, 'clusterScopedFilters' | 'namespacedFilterPolicies'>

/**
 * Makes the fine-grained filters of a policy askable. In a namespace the policy that names it decides, else the
 * first one with a pattern that matches; kinds that it does not name are left out, unless it has a filter for all others.
 * Throws InvalidSelectorError and InvalidPatternError for policies that were not validated.
 */
export function resolveFineFilters(
  policies: PolicyFilters | undefined,
  resolve: ResolveResource,
): FineFilters {
  const warnings: ScopeWarning[] = []
  const kinds = { resolve, warnings }
  const cluster = kindFilters(policies?.clusterScopedFilters ?? [], { ...kinds, namespaced: false })
  const byNamespace = (policies?.namespacedFilterPolicies ?? []).map(({ namespaces, resourceFilters }) => ({
    namespaces,
    filters: kindFilters(resourceFilters, { ...kinds, namespaced: true }),
  }))
  const filtersOf = namespaceLookup(byNamespace)
  return {
    byNamespace: byNamespace.length > 0,
    namespacedTypes: byNamespace.flatMap(({ filters }) => [...filters.byType.keys()]),
    warnings,
    fineFilter({ groupResource, namespaced }, namespace) {
      if (!namespaced) return cluster.byType.get(groupResource)
      const filters = filtersOf(namespace)
      return filters && (filters.byType.get(groupResource) ?? filters.others ?? 'excluded')
    },
  }
}

interface NamespaceEntry {
  namespaces: readonly string[]
  filters: KindFilters
}

function namespaceLookup(entries: readonly NamespaceEntry[]): (namespace: string) => KindFilters | undefined {
  const byName = new Map<string, KindFilters>()
  const byPattern: { matches: Glob; filters: KindFilters }[] = []
  for (const { namespaces, filters } of entries) {
    for (const name of namespaces) {
      if (isPattern(name)) byPattern.push({ matches: compileGlob(name), filters })
      else byName.set(name, filters)
    }
  }
  return namespace => byName.get(namespace) ?? byPattern.find(({ matches }) => matches(namespace))?.filters
}

interface KindOptions {
  resolve: ResolveResource
  namespaced: boolean
  warnings: ScopeWarning[]
}

function kindFilters(filters: readonly ResourceFilter[], options: KindOptions): KindFilters {
  const byType = new Map<GroupResource, FineFilter>()
  let others: FineFilter | undefined
  for (const filter of filters) {
    const fine = fineFilterOf(filter)
    if (isCatchAll(filter)) others = fine
    else for (const kind of filter.kinds) byType.set(typeOf(kind, options), fine)
  }
  return { byType, others }
}

function typeOf(kind: string, { resolve, namespaced, warnings }: KindOptions): GroupResource {
  const type = resolve(kind)
  if (type === undefined) {
    warnings.push({
      message: 'A filter policy names a kind that this cluster does not have',
      fields: { kind },
    })
    return kind as GroupResource
  }
  if (type.namespaced !== namespaced) {
    const message = namespaced
      ? 'A filter policy for namespaces names a kind without a namespace, which it cannot match'
      : 'The filter policy for cluster scope names a kind with a namespace, which it cannot match'
    warnings.push({ message, fields: { kind } })
  }
  return type.groupResource
}

function fineFilterOf({ labelSelectors, names, excludedNames }: ResourceFilter): FineFilter {
  const byName = createNameFilter({ includes: names, excludes: excludedNames })
  return {
    labelSelectors: effectiveSelectors(labelSelectors).map(({ text }) => text),
    includesName: name => byName.includes(name),
  }
}
