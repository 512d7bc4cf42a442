import type { BackupSpec } from '@lateen/api'
import { isExcludedUnlessNamed } from '../../filters/excluded-unless-named.ts'
import { createNameFilter, type NameFilter } from '../../filters/name-filter.ts'
import type { IncludeExcludePolicy } from '../../filters/policies/resource-policies.ts'
import { type ResolveResource, resourceFilter } from '../../filters/resource-names.ts'
import type { NamespaceScope, ResourceScope, ScopedType } from '../../filters/scope.ts'

const namespacesResource = 'namespaces'

/** What `resolveResources` goes by. */
export interface ResourceScopeFacts {
  spec: BackupSpec
  policy: IncludeExcludePolicy | undefined
  namespaces: Pick<NamespaceScope, 'all'>
  resolve: ResolveResource
}

/**
 * Whether a backup uses the old filters, which do not know scopes. One without any filter of types uses
 * the new ones.
 */
export function usesOldFilters(spec: BackupSpec): boolean {
  return (
    (spec.includeClusterResources ?? undefined) !== undefined ||
    isFilled(spec.includedResources) ||
    isFilled(spec.excludedResources)
  )
}

/** Whether a backup uses the filters for types with and without a namespace. */
export function usesScopedFilters(spec: BackupSpec): boolean {
  return (
    isFilled(spec.includedClusterScopedResources) ||
    isFilled(spec.excludedClusterScopedResources) ||
    isFilled(spec.includedNamespaceScopedResources) ||
    isFilled(spec.excludedNamespaceScopedResources)
  )
}

/** The types that a backup takes, by the old or the new filters. */
export function resolveResources(facts: ResourceScopeFacts): ResourceScope {
  return usesOldFilters(facts.spec) ? oldScope(facts) : newScope(facts)
}

function isFilled(list: readonly string[] | null | undefined): boolean {
  return (list?.length ?? 0) > 0
}

function oldScope({ spec, namespaces, resolve }: ResourceScopeFacts): ResourceScope {
  const filter = resourceFilter(resolve, {
    includes: spec.includedResources,
    excludes: spec.excludedResources,
  })
  const clusterResources = spec.includeClusterResources ?? undefined

  function collects({ groupResource, namespaced }: ScopedType): boolean {
    if (namespaced) return filter.includes(groupResource)
    if (clusterResources === false) return false
    const outOfReach =
      clusterResources === undefined && !namespaces.all && groupResource !== namespacesResource
    return !outOfReach && filter.includes(groupResource)
  }

  function excludesByName({ groupResource, namespaced }: ScopedType): boolean {
    if (filter.isExcluded(groupResource)) return true
    if (namespaced) return false
    return clusterResources === false || (clusterResources === undefined && !filter.includes(groupResource))
  }

  return completed({
    collects,
    excludesByName,
    includesByName: ({ groupResource }) => isNamed(filter, groupResource),
  })
}

function newScope({ spec, policy, namespaces, resolve }: ResourceScopeFacts): ResourceScope {
  const inNamespaces = scopedFilter({
    includes: meant(spec.includedNamespaceScopedResources, true, resolve),
    excludes: meant(spec.excludedNamespaceScopedResources, true, resolve),
    policyIncludes: meant(policy?.includedNamespaceScopedResources, true, resolve),
    policyExcludes: meant(policy?.excludedNamespaceScopedResources, true, resolve),
  })
  const inCluster = scopedFilter({
    includes: meant(spec.includedClusterScopedResources, false, resolve),
    excludes: meant(spec.excludedClusterScopedResources, false, resolve),
    policyIncludes: meant(policy?.includedClusterScopedResources, false, resolve),
    policyExcludes: meant(policy?.excludedClusterScopedResources, false, resolve),
  })
  // Velero counts the two types that it adds to the exclusions itself, and so leaves StorageClasses and the like out of
  // backups that were not restricted at all.
  const unrestricted =
    // A list that names only types of the other scope is empty then, and restricts all the same.
    !restricts(spec) &&
    inCluster.included.length === 0 &&
    inCluster.excluded.every(isExcludedUnlessNamed) &&
    namespaces.all &&
    inNamespaces.included.every(name => name === '*') &&
    inNamespaces.excluded.every(isExcludedUnlessNamed)
  const filterFor = ({ namespaced }: ScopedType) => (namespaced ? inNamespaces : inCluster)

  function collects(type: ScopedType): boolean {
    if (type.namespaced) return inNamespaces.includes(type.groupResource)
    if (inCluster.isExcluded(type.groupResource)) return false
    return (
      unrestricted ||
      type.groupResource === namespacesResource ||
      inCluster.isIncludedByEntry(type.groupResource)
    )
  }

  return completed({
    collects,
    excludesByName: type => filterFor(type).isExcluded(type.groupResource),
    includesByName: type => isNamed(filterFor(type), type.groupResource),
  })
}

/** Whether the lists of a backup, as they were written, say anything but everything. */
function restricts(spec: BackupSpec): boolean {
  const excluded = [spec.excludedClusterScopedResources, spec.excludedNamespaceScopedResources]
  return (
    isFilled(spec.includedClusterScopedResources) ||
    (spec.includedNamespaceScopedResources ?? []).some(name => name !== '*') ||
    excluded.some(list => list?.some(name => !isExcludedUnlessNamed(name)))
  )
}

/** Adds what follows from the rest: Namespace objects may always be stored. */
function completed(scope: Omit<ResourceScope, 'admits'>): ResourceScope {
  return {
    ...scope,
    admits: type =>
      type.namespaced
        ? scope.collects(type)
        : type.groupResource === namespacesResource || !scope.excludesByName(type),
  }
}

function isNamed(filter: NameFilter, name: string): boolean {
  return !filter.included.includes('*') && filter.isIncludedByEntry(name)
}

interface ScopedLists {
  includes: readonly string[]
  excludes: readonly string[]
  policyIncludes: readonly string[]
  policyExcludes: readonly string[]
}

/** The policy adds what the backup says nothing about; its exclusions go before its inclusions. */
function scopedFilter({ includes, excludes, policyIncludes, policyExcludes }: ScopedLists): NameFilter {
  const own = createNameFilter({ includes, excludes })
  const isOpen = (filter: NameFilter) => (name: string) =>
    !filter.isIncludedByEntry(name) && !filter.isExcluded(name)
  const withExcludes = createNameFilter({
    includes,
    excludes: [...excludes, ...policyExcludes.filter(isOpen(own))],
  })
  return createNameFilter({
    includes: [...includes, ...policyIncludes.filter(isOpen(withExcludes))],
    excludes: withExcludes.excluded,
  })
}

/** The types that names mean in one scope. A name of a type of the other scope means none. */
function meant(
  names: readonly string[] | null | undefined,
  namespaced: boolean,
  resolve: ResolveResource,
): string[] {
  return (names ?? []).flatMap(name => {
    const type = name === '*' ? undefined : resolve(name)
    if (type === undefined) return [name]
    return type.namespaced === namespaced ? [type.groupResource] : []
  })
}
