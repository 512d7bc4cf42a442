import type { BackupSpec } from '@lateen/api'
import { excludedUnlessNamed } from '../scope/excluded-unless-named.ts'
import type { ResolveResource } from '../scope/resource-names.ts'
import { usesOldFilters, usesScopedFilters } from '../scope/resource-scope.ts'
import { listProblems, namespaceListProblems, scopedListProblems } from './validate-lists.ts'

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
  const { includedResources: included, excludedResources: excluded } = spec
  const problems = listProblems(included ?? [], excluded ?? [])
  const lists = {
    excludedResources: withExclusions({
      included,
      excluded,
      added: [excludedUnlessNamed.inNamespaces, excludedUnlessNamed.inCluster],
      resolve,
    }),
  }
  const errors = problems.map(problem => `Invalid included/excluded resource lists: ${problem}`)
  return { lists: errors.length > 0 ? {} : lists, errors }
}

function scopedLists(spec: BackupSpec, resolve: ResolveResource): PreparedFilters {
  const { includedClusterScopedResources, excludedClusterScopedResources } = spec
  const { includedNamespaceScopedResources, excludedNamespaceScopedResources } = spec
  const clusterErrors = scopedListProblems(
    includedClusterScopedResources ?? [],
    excludedClusterScopedResources ?? [],
  ).map(problem => `Invalid cluster-scoped included/excluded resource lists: ${problem}`)
  const namespaceErrors = scopedListProblems(
    includedNamespaceScopedResources ?? [],
    excludedNamespaceScopedResources ?? [],
  ).map(problem => `Invalid namespace-scoped included/excluded resource lists: ${problem}`)
  return {
    lists: {
      ...(clusterErrors.length === 0 && {
        excludedClusterScopedResources: withExclusions({
          included: includedClusterScopedResources,
          excluded: excludedClusterScopedResources,
          added: [excludedUnlessNamed.inCluster],
          resolve,
        }),
      }),
      ...(namespaceErrors.length === 0 && {
        excludedNamespaceScopedResources: withExclusions({
          included: includedNamespaceScopedResources,
          excluded: excludedNamespaceScopedResources,
          added: [excludedUnlessNamed.inNamespaces],
          resolve,
        }),
      }),
    },
    errors: [...clusterErrors, ...namespaceErrors],
  }
}

interface Exclusions {
  included: readonly string[] | null | undefined
  excluded: readonly string[] | null | undefined
  added: readonly string[]
  resolve: ResolveResource
}

function withExclusions({ included, excluded, added, resolve }: Exclusions): string[] {
  const named = new Set((included ?? []).map(name => resolve(name)?.groupResource ?? name))
  return [...new Set([...(excluded ?? []), ...added.filter(name => !named.has(name))])]
}
