import type { DiscoveredResource } from '@lateen/kube'
import { groupResource } from '../item/item.ts'
import { createNameFilter, type NameFilter, type NameLists } from './name-filter.ts'
import type { ScopedType } from './scope.ts'

/** The type that a user means by a name; undefined when the cluster has none that can be backed up. */
export type ResolveResource = (name: string) => ScopedType | undefined

const neededVerbs = ['list', 'create', 'get', 'delete'] as const

/** Whether objects of the type can be backed up and restored: it can be listed, read, created and deleted. */
export function canBackUp({ verbs }: Pick<DiscoveredResource, 'verbs'>): boolean {
  return neededVerbs.every(verb => verbs.includes(verb))
}

/**
 * Reads names of resources as users write them: plural, singular or kind in any case, short name, alone or as `name.group`, where
 * the beginning of a group will do. Of several groups the one that the server lists first is meant.
 * `resources` are those of all groups in the server's order, at one version or at all.
 */
export function resourceResolver(resources: readonly DiscoveredResource[]): ResolveResource {
  const byShortName = Map.groupBy(
    resources
      .filter(canBackUp)
      .flatMap(resource => resource.shortNames.map(shortName => ({ shortName, resource }))),
    ({ shortName }) => shortName,
  )
  const byName = Map.groupBy(
    resources.flatMap(resource => namesOf(resource).map(name => ({ name, resource }))),
    ({ name }) => name,
  )
  return text => {
    const dot = text.indexOf('.')
    const head = dot < 0 ? text : text.slice(0, dot)
    const group = dot < 0 ? '' : text.slice(dot + 1)
    const short = inGroup(byShortName.get(head) ?? [], group)
    const found = inGroup(byName.get(short?.plural ?? head.toLowerCase()) ?? [], short?.group ?? group)
    if (found === undefined || !canBackUp(found)) return undefined
    return { groupResource: groupResource(found), namespaced: found.namespaced }
  }
}

function namesOf({ plural, singular, kind }: DiscoveredResource): string[] {
  return [...new Set([plural, singular, kind.toLowerCase()])]
}

function inGroup(
  candidates: readonly { resource: DiscoveredResource }[],
  group: string,
): DiscoveredResource | undefined {
  const resources = candidates.map(({ resource }) => resource)
  if (group === '') return resources[0]
  return (
    resources.find(resource => resource.group === group) ??
    resources.find(resource => resource.group.startsWith(group))
  )
}

/** A filter over types, made from lists that name them as users do. Names that mean nothing here are kept as patterns. */
export function resourceFilter(resolve: ResolveResource, { includes, excludes }: NameLists): NameFilter {
  const resolved = (name: string) => (name === '*' ? name : (resolve(name)?.groupResource ?? name))
  return createNameFilter({
    includes: (includes ?? []).map(resolved),
    excludes: (excludes ?? []).filter(name => name !== '*').map(resolved),
  })
}
