import { annotationNames, type Restore, type RestoreSpec } from '@lateen/api'
import type { DiscoveredResource } from '@lateen/kube'
import { resolveFineFilters } from '../../filters/fine-filters.ts'
import { effectiveSelectors, type Selector } from '../../filters/label-selector.ts'
import { createNameFilter, type NameFilter } from '../../filters/name-filter.ts'
import type { ResourcePolicies } from '../../filters/policies/resource-policies.ts'
import { type ResolveResource, resourceFilter, resourceResolver } from '../../filters/resource-names.ts'
import type { ScopeWarning } from '../../filters/scope.ts'
import type { BackupArchive } from '../archive/backup-archive.ts'
import { createPolicyFilters, type PolicyFilters } from './policy-filters.ts'
import type { Exclusion, ItemPlace, ObjectFacts, RestoreScope, StatusChoice } from './restore-scope.ts'
import { scopeWarnings } from './scope-warnings.ts'

/** What the scope of a restore is made from. */
export interface RestoreScopeFacts {
  /** As `prepareRestore` returned it. */
  restore: Pick<Restore, 'spec'>
  /** As `prepareRestore` returned them. */
  policies?: ResourcePolicies | undefined
  /** Every resource that the cluster serves, at the preferred version or at all of them, in the server's order. */
  discovery: readonly DiscoveredResource[]
  archive: Pick<BackupArchive, 'types' | 'namespaces'>
}

/** Restored whatever the filters say: without them, volumes whose data was moved come back empty. */
const alwaysRestored: ReadonlySet<string> = new Set(['datauploads.velero.io'])

/**
 * Everything that decides which objects of an archive are restored, resolved against one cluster. Pure.
 * The restore and the policies must be valid (`prepareRestore` found no errors): throws InvalidPatternError or InvalidSelectorError
 * if they are not.
 */
export function resolveRestoreScope({
  restore,
  policies,
  discovery,
  archive,
}: RestoreScopeFacts): RestoreScope {
  const { spec } = restore
  const resolve = resourceResolver(discovery)
  const filters: Filters = {
    resources: resourceFilter(resolve, {
      includes: spec.includedResources,
      excludes: spec.excludedResources,
    }),
    namespaces: createNameFilter({ includes: spec.includedNamespaces, excludes: spec.excludedNamespaces }),
    clusterResources: spec.includeClusterResources ?? undefined,
    selectors: selectorsOf(spec),
    policies: createPolicyFilters(policies, resolve),
  }
  const status = statusFilter(spec, resolve)
  const targets = new Map(Object.entries(spec.namespaceMapping ?? {}))
  const target = (namespace: string) => targets.get(namespace) ?? namespace
  return {
    excludesPlace: place => (isAlwaysRestored(place) ? undefined : excludesPlace(filters, place)),
    dependsOnObject: place =>
      !isAlwaysRestored(place) && (filters.selectors.length > 0 || filters.policies.concern(place)),
    excludesObject: (place, object) =>
      isAlwaysRestored(place) ? undefined : excludesObject(filters, place, object),
    excludesAdditional: place => (isAlwaysRestored(place) ? undefined : excludesAdditional(filters, place)),
    targetNamespace: target,
    restoresStatus: ({ groupResource }, annotations) =>
      statusChoice(status?.includes(groupResource) ?? false, annotations?.[annotationNames.restoreStatus]),
    warnings: [
      ...scopeWarnings({ spec, resolve, archive, namespaces: filters.namespaces, target }),
      ...resolveFineFilters(policies, resolve).warnings,
      ...filtersWithoutEffect(policies, filters, resolve),
    ],
  }
}

function* filtersWithoutEffect(
  policies: ResourcePolicies | undefined,
  { resources }: Filters,
  resolve: ResolveResource,
): Generator<ScopeWarning> {
  const filters = policies?.namespacedFilterPolicies.flatMap(({ resourceFilters }) => resourceFilters) ?? []
  for (const kind of new Set(filters.flatMap(({ kinds }) => kinds))) {
    if (!resources.isExcluded(resolve(kind)?.groupResource ?? kind)) continue
    yield { message: 'A filter policy names a kind that the restore leaves out', fields: { kind } }
  }
}

interface Filters {
  resources: NameFilter
  namespaces: NameFilter
  /** undefined: only when all namespaces are restored. */
  clusterResources: boolean | undefined
  /** Of which one must match; none: all do. */
  selectors: readonly Selector[]
  policies: PolicyFilters
}

function isAlwaysRestored({ groupResource }: ItemPlace): boolean {
  return alwaysRestored.has(groupResource)
}

function excludesPlace(filters: Filters, place: ItemPlace): Exclusion | undefined {
  const excluded = excludesAdditional(filters, place)
  if (excluded !== undefined) return excluded
  if (place.namespace === '' && filters.clusterResources === undefined && !filters.namespaces.everything) {
    return 'cluster-scoped resources excluded'
  }
  return filters.policies.excludePlace(place) ? 'not in the filter policy' : undefined
}

function excludesAdditional(
  { resources, namespaces, clusterResources }: Filters,
  { groupResource, namespace }: ItemPlace,
): Exclusion | undefined {
  if (!resources.includes(groupResource)) return 'resource excluded'
  if (namespace !== '') return namespaces.includes(namespace) ? undefined : 'namespace excluded'
  return clusterResources === false ? 'cluster-scoped resources excluded' : undefined
}

/** A filter policy that concerns the object replaces the selectors of the restore. */
function excludesObject(
  { policies, selectors }: Filters,
  place: ItemPlace,
  object: ObjectFacts,
): Exclusion | undefined {
  const policy = policies.find(place, object.kind)
  if (policy === 'excluded') return 'not in the filter policy'
  if (!matchesOne(policy?.selectors ?? selectors, object)) return 'labels do not match'
  return policy === undefined || policy.includesName(object.name) ? undefined : 'name does not match'
}

function matchesOne(selectors: readonly Selector[], { labels }: ObjectFacts): boolean {
  return selectors.length === 0 || selectors.some(selector => selector.matches(labels))
}

function selectorsOf({ labelSelector, orLabelSelectors }: RestoreSpec): Selector[] {
  if (orLabelSelectors && orLabelSelectors.length > 0) return effectiveSelectors(orLabelSelectors)
  return labelSelector ? effectiveSelectors([labelSelector]) : []
}

function statusFilter({ restoreStatus }: RestoreSpec, resolve: ResolveResource): NameFilter | undefined {
  if (!restoreStatus) return undefined
  const { includedResources: includes, excludedResources: excludes } = restoreStatus
  return resourceFilter(resolve, { includes, excludes })
}

/** The annotation of an object goes before the lists of the restore. */
function statusChoice(listed: boolean, annotation: string | undefined): StatusChoice {
  switch (annotation?.trim().toLowerCase()) {
    case undefined:
      return { restores: listed }
    case 'true':
      return { restores: true }
    case 'false':
      return { restores: false }
    default:
      return { restores: listed, ignored: annotation }
  }
}
