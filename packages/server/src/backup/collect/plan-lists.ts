import type { BackupScope, ScopedType } from '../../filters/scope.ts'

/** Namespaces that are listed with the same selectors. Selectors are listed one after the other; none means all objects. */
export interface NamespaceGroup {
  readonly selectors: readonly string[]
  /** Sorted. */
  readonly names: readonly string[]
}

/** Which lists bring the objects of one type. */
export type ListPlan =
  /** One list over the cluster, of which `keeps` says what stays. Objects come in the server's order. */
  | {
      readonly over: 'cluster'
      readonly selectors: readonly string[]
      keeps(namespace: string): boolean
      /** Where to list instead if the whole cluster may not be listed. */
      readonly names: readonly string[]
    }
  /** Namespaces, in this order of groups; the objects are wanted by namespace, sorted. */
  | { readonly over: 'namespaces'; readonly groups: readonly NamespaceGroup[] }

/** Decides which lists a type needs. */
export function planLists(type: ScopedType, scope: BackupScope): ListPlan {
  const { namespaces } = scope
  if (!type.namespaced) return planClusterScope(type, scope)
  if (namespaces.wide) {
    const { labelSelectors: selectors } = scope
    return { over: 'cluster', selectors, names: namespaces.names, keeps: name => namespaces.includes(name) }
  }
  return { over: 'namespaces', groups: groupsOf(type, scope) }
}

function planClusterScope(type: ScopedType, scope: BackupScope): ListPlan {
  const filter = scope.fineFilter(type, '')
  if (filter === 'excluded') return { over: 'namespaces', groups: [] }
  const selectors = filter?.labelSelectors ?? scope.labelSelectors
  return { over: 'cluster', selectors, names: [], keeps: () => true }
}

function groupsOf(type: ScopedType, scope: BackupScope): NamespaceGroup[] {
  const groups = new Map<string, { selectors: readonly string[]; names: string[] }>()
  for (const name of scope.namespaces.names) {
    const filter = scope.fineFilter(type, name)
    if (filter === 'excluded') continue
    const selectors = filter?.labelSelectors ?? scope.labelSelectors
    const key = filter?.labelSelectors === undefined ? '' : JSON.stringify(selectors)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { selectors, names: [name] })
    else group.names.push(name)
  }
  return [...groups.values()]
}
