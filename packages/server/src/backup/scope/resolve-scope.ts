import type { Backup, BackupSpec } from '@lateen/api'
import type { DiscoveredResource } from '@lateen/kube'
import { isExcludedUnlessNamed } from '../../filters/excluded-unless-named.ts'
import { type FineFilters, resolveFineFilters } from '../../filters/fine-filters.ts'
import { effectiveSelectors, type Selector } from '../../filters/label-selector.ts'
import { resolveNamespaces } from '../../filters/namespace-scope.ts'
import type { ResourcePolicies } from '../../filters/policies/resource-policies.ts'
import { type ResolveResource, resourceResolver } from '../../filters/resource-names.ts'
import type {
  BackupScope,
  NamespaceFacts,
  NamespaceScope,
  ResourceScope,
  ScopeWarning,
} from '../../filters/scope.ts'
import { resolveOrder } from './ordered-resources.ts'
import { resolveResources } from './resource-scope.ts'

/** What a scope is made from. */
export interface ScopeFacts {
  /** As `prepareBackup` returned it. */
  backup: Pick<Backup, 'spec'>
  /** As `prepareBackup` returned them. */
  policies?: ResourcePolicies | undefined
  /** Every resource that the cluster serves, at the preferred version or at all of them, in the server's order. */
  discovery: readonly DiscoveredResource[]
  /** Every namespace of the cluster. */
  namespaces: readonly NamespaceFacts[]
}

/**
 * Everything that decides which objects belong to a backup, resolved against one cluster. Pure.
 * The backup and the policies must be valid (`prepareBackup` found no errors): throws InvalidPatternError or InvalidSelectorError if
 * they are not.
 */
export function resolveScope({ backup, policies, discovery, namespaces: existing }: ScopeFacts): BackupScope {
  const { spec } = backup
  const resolve = resourceResolver(discovery)
  const fine = resolveFineFilters(policies, resolve)
  const taken = resolveNamespaces({
    includes: spec.includedNamespaces,
    excludes: spec.excludedNamespaces,
    existing: existing.map(({ name }) => name),
  })
  const namespaces = { ...taken, wide: taken.wide && !fine.byNamespace }
  const resources = resolveResources({ spec, policy: policies?.includeExcludePolicy, namespaces, resolve })
  const order = resolveOrder({ orderedResources: spec.orderedResources, discovery, resolve })
  const selectors = specSelectors(spec)
  return {
    namespaces,
    resources,
    labelSelectors: selectors.map(({ text }) => text),
    ordered: order.ordered,
    fineFilter: fine.fineFilter,
    takesNamespace: namespaceTaker(namespaces, selectors),
    warnings: [
      ...managedNamespaces(existing, namespaces),
      ...unknownTypes(spec, resolve),
      ...fine.warnings,
      ...filtersWithoutEffect(fine, resources),
      ...order.warnings,
    ],
  }
}

function specSelectors({ labelSelector, orLabelSelectors }: BackupSpec): Selector[] {
  if (orLabelSelectors && orLabelSelectors.length > 0) return effectiveSelectors(orLabelSelectors)
  return labelSelector ? effectiveSelectors([labelSelector]) : []
}

/** With a selector and no namespaces named, only namespaces that match it are taken for their own sake. */
function namespaceTaker(
  namespaces: NamespaceScope,
  selectors: readonly Selector[],
): BackupScope['takesNamespace'] {
  return ({ name, labels, phase }) => {
    if (phase !== 'Active') return false
    if (selectors.some(selector => selector.matches(labels))) return true
    return (selectors.length === 0 || !namespaces.all) && namespaces.includes(name)
  }
}

const managedByArgoCd = 'argocd.argoproj.io/managed-by'

function* managedNamespaces(
  existing: readonly NamespaceFacts[],
  namespaces: NamespaceScope,
): Generator<ScopeWarning> {
  const managed = existing
    .filter(({ name, labels }) => labels?.[managedByArgoCd] && namespaces.includes(name))
    .map(({ name }) => name)
  if (managed.length > 0) {
    yield {
      message: 'Argo CD manages namespaces of this backup and may undo what a restore brings back',
      fields: { namespaces: managed },
    }
  }
}

function* unknownTypes(spec: BackupSpec, resolve: ResolveResource): Generator<ScopeWarning> {
  const names = [
    spec.includedResources,
    spec.excludedResources,
    spec.includedNamespaceScopedResources,
    spec.excludedNamespaceScopedResources,
    spec.includedClusterScopedResources,
    spec.excludedClusterScopedResources,
  ].flatMap(list => list ?? [])
  for (const resource of new Set(names)) {
    if (/[*?[{]/.test(resource) || isExcludedUnlessNamed(resource) || resolve(resource) !== undefined)
      continue
    yield { message: 'A filter names a resource that this cluster does not have', fields: { resource } }
  }
  yield* wrongScope(spec, resolve)
}

function* wrongScope(spec: BackupSpec, resolve: ResolveResource): Generator<ScopeWarning> {
  const scoped = [
    { namespaced: true, names: spec.includedNamespaceScopedResources },
    { namespaced: true, names: spec.excludedNamespaceScopedResources },
    { namespaced: false, names: spec.includedClusterScopedResources },
    { namespaced: false, names: spec.excludedClusterScopedResources },
  ]
  for (const { namespaced, names } of scoped) {
    for (const resource of names ?? []) {
      const type = resolve(resource)
      if (type === undefined || type.namespaced === namespaced) continue
      const message = namespaced
        ? 'A filter for resources in namespaces names one without a namespace, which is ignored'
        : 'A filter for resources without a namespace names one in namespaces, which is ignored'
      yield { message, fields: { resource } }
    }
  }
}

function* filtersWithoutEffect(
  { namespacedTypes }: FineFilters,
  resources: ResourceScope,
): Generator<ScopeWarning> {
  for (const kind of new Set(namespacedTypes)) {
    if (resources.excludesByName({ groupResource: kind, namespaced: true })) {
      yield { message: 'A filter policy names a kind that the backup leaves out', fields: { kind } }
    }
  }
}
