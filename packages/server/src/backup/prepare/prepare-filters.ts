import type { BackupSpec } from '@lateen/api'
import { excludedUnlessNamed } from '../../filters/excluded-unless-named.ts'
import type { ResolveResource } from '../../filters/resource-names.ts'
import { listProblems, namespaceListProblems, scopedListProblems } from '../../filters/validate-lists.ts'
import { usesOldFilters, usesScopedFilters } from '../scope/resource-scope.ts'

/** The lists of a spec as they are used, and what is wrong with them. */
export interface PreparedFilters {
  lists: Partial<BackupSpec>
  errors: readonly string[]
}

/**
 * Completes the include and exclude lists of a spec: namespaces that are labelled as excluded, types that no backup takes
 * unless it names them, and `*` for no namespaces at all.
 */
export function prepareFilters(
  spec: BackupSpec,
  excludedNamespaces: readonly string[],
  resolve: ResolveResource,
): PreparedFilters {
  const types = usesOldFilters(spec) ? oldLists(spec, resolve) : scopedLists(spec, resolve)
  const included = spec.includedNamespaces ?? []
  const includedNamespaces = included.length > 0 ? included : ['*']
  const excluded = [...new Set([...(spec.excludedNamespaces ?? []), ...excludedNamespaces])]
  return {
    lists: {
      ...types.lists,
      includedNamespaces,
      ...(excluded.length > 0 && { excludedNamespaces: excluded }),
    },
    errors: [
      ...mixedFilters(spec),
      ...types.errors,
      ...namespaceListProblems(includedNamespaces, excluded).map(
        problem => `Invalid included/excluded namespace lists: ${problem}`,
      ),
    ],
  }
}

function mixedFilters(spec: BackupSpec): string[] {
  if (!usesOldFilters(spec) || !usesScopedFilters(spec)) return []
  return [
    'include-resources, exclude-resources and include-cluster-resources are old filter parameters.\n' +
      'include-cluster-scoped-resources, exclude-cluster-scoped-resources, include-namespace-scoped-resources and ' +
      'exclude-namespace-scoped-resources are new filter parameters.\n' +
      'They cannot be used together',
  ]
}

function oldLists(spec: BackupSpec, resolve: ResolveResource): PreparedFilters {
  const errors = listProblems(spec.includedResources ?? [], spec.excludedResources ?? []).map(
    problem => `Invalid included/excluded resource lists: ${problem}`,
  )
  const added = missingFrom({
    included: spec.includedResources,
    excluded: spec.excludedResources,
    names: [excludedUnlessNamed.inNamespaces, excludedUnlessNamed.inCluster],
    resolve,
  })
  if (errors.length > 0 || added.length === 0) return { lists: {}, errors }
  return { lists: { excludedResources: [...(spec.excludedResources ?? []), ...added] }, errors }
}

function scopedLists(spec: BackupSpec, resolve: ResolveResource): PreparedFilters {
  const cluster = clusterLists(spec, resolve)
  const namespaced = namespacedLists(spec, resolve)
  return {
    lists: { ...cluster.lists, ...namespaced.lists },
    errors: [...cluster.errors, ...namespaced.errors],
  }
}

function clusterLists(spec: BackupSpec, resolve: ResolveResource): PreparedFilters {
  const { includedClusterScopedResources: included, excludedClusterScopedResources: excluded } = spec
  const errors = scopedListProblems(included ?? [], excluded ?? []).map(
    problem => `Invalid cluster-scoped included/excluded resource lists: ${problem}`,
  )
  const added = missingFrom({ included, excluded, names: [excludedUnlessNamed.inCluster], resolve })
  if (errors.length > 0 || added.length === 0) return { lists: {}, errors }
  return { lists: { excludedClusterScopedResources: [...(excluded ?? []), ...added] }, errors }
}

function namespacedLists(spec: BackupSpec, resolve: ResolveResource): PreparedFilters {
  const { includedNamespaceScopedResources: included, excludedNamespaceScopedResources: excluded } = spec
  const errors = scopedListProblems(included ?? [], excluded ?? []).map(
    problem => `Invalid namespace-scoped included/excluded resource lists: ${problem}`,
  )
  const added = missingFrom({ included, excluded, names: [excludedUnlessNamed.inNamespaces], resolve })
  if (errors.length > 0 || added.length === 0) return { lists: {}, errors }
  return { lists: { excludedNamespaceScopedResources: [...(excluded ?? []), ...added] }, errors }
}

interface Lists {
  included: readonly string[] | null | undefined
  excluded: readonly string[] | null | undefined
  names: readonly string[]
  resolve: ResolveResource
}

/** Those of the names that neither list has. */
function missingFrom({ included, excluded, names, resolve }: Lists): string[] {
  const present = new Set(included?.map(name => resolve(name)?.groupResource ?? name)).union(
    new Set(excluded),
  )
  return names.filter(name => !present.has(name))
}
