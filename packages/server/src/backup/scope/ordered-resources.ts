import type { BackupSpec } from '@lateen/api'
import type { DiscoveredResource } from '@lateen/kube'
import type { ResolveResource } from '../../filters/resource-names.ts'
import type { BackupScope, ScopeWarning } from '../../filters/scope.ts'
import { type GroupResource, groupResource } from '../../item/item.ts'

/** What `resolveOrder` goes by. */
export interface OrderFacts {
  orderedResources: BackupSpec['orderedResources']
  discovery: readonly DiscoveredResource[]
  resolve: ResolveResource
}

/**
 * The objects to back up first, by type. A plural name stands for the types of all groups that have it; other
 * names are read as in filters. Names that mean nothing here are in the warnings.
 */
export function resolveOrder(facts: OrderFacts): Pick<BackupScope, 'ordered' | 'warnings'> {
  const ordered = new Map<GroupResource, readonly string[]>()
  const warnings: ScopeWarning[] = []
  for (const [name, list] of Object.entries(facts.orderedResources ?? {})) {
    const types = typesOf(name, facts)
    const items = list.split(',').flatMap(item => item.trim() || [])
    if (types.length === 0) {
      warnings.push({
        message: 'Ordered resources name a type that this cluster does not have',
        fields: { resource: name },
      })
    }
    for (const type of types) if (items.length > 0) ordered.set(type, items)
  }
  return { ordered, warnings }
}

function typesOf(name: string, { discovery, resolve }: OrderFacts): GroupResource[] {
  const byPlural = discovery.filter(({ plural }) => plural === name).map(groupResource)
  const found = byPlural.length > 0 ? undefined : resolve(name)
  return found === undefined ? byPlural : [found.groupResource]
}
