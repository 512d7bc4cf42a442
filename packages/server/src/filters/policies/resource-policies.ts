import type { LabelSelector } from '@lateen/api'
import type { VolumePolicy } from './volume-policy.ts'

/** Types to take or leave, added to those that the backup names; what the backup says goes first. */
export interface IncludeExcludePolicy {
  includedClusterScopedResources: readonly string[]
  excludedClusterScopedResources: readonly string[]
  includedNamespaceScopedResources: readonly string[]
  excludedNamespaceScopedResources: readonly string[]
}

/** Which objects of some kinds are taken. */
export interface ResourceFilter {
  /** As users write them; empty or `*` alone: all kinds that no other filter names. */
  kinds: readonly string[]
  /** Of which one must match; empty: no selector. */
  labelSelectors: readonly LabelSelector[]
  /** Patterns; empty: all names. */
  names: readonly string[]
  excludedNames: readonly string[]
}

/** The only kinds that are taken in some namespaces, and which objects of them. */
export interface NamespacedFilterPolicy {
  /** Names and patterns. */
  namespaces: readonly string[]
  resourceFilters: readonly ResourceFilter[]
}

/** A resource policies file, read and found valid. */
export interface ResourcePolicies {
  /** The first that matches a volume decides. */
  volumePolicies: readonly VolumePolicy[]
  includeExcludePolicy?: IncludeExcludePolicy | undefined
  clusterScopedFilters: readonly ResourceFilter[]
  namespacedFilterPolicies: readonly NamespacedFilterPolicy[]
}

/** The filter is for all kinds that no other filter names. */
export function isCatchAll({ kinds }: Pick<ResourceFilter, 'kinds'>): boolean {
  return kinds.length === 0 || (kinds.length === 1 && kinds[0] === '*')
}

/** A backup's own policies followed by the volume policies of the server, of which the first match wins. */
export function withGlobalVolumePolicies(
  own: ResourcePolicies | undefined,
  global: ResourcePolicies | undefined,
): ResourcePolicies | undefined {
  if (global === undefined) return own
  return {
    clusterScopedFilters: [],
    namespacedFilterPolicies: [],
    ...own,
    volumePolicies: [...(own?.volumePolicies ?? []), ...global.volumePolicies],
  }
}
