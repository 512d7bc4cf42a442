import type { GroupResource } from '../item/item.ts'

/** A type of objects, as far as filters look at it. */
export interface ScopedType {
  groupResource: GroupResource
  namespaced: boolean
}

/** Which namespaces a backup takes, resolved against those that exist. */
export interface NamespaceScope {
  /** Nothing is left out. */
  readonly all: boolean
  /**
   * One list over the whole cluster, of which `includes` drops what is left out, takes fewer requests than one for each
   * namespace, and no filter differs between namespaces.
   */
  readonly wide: boolean
  /** Where to list, one by one, unless `wide`: the namespaces that exist and are taken, sorted. */
  readonly names: readonly string[]
  /** Named by the backup one by one and not there. */
  readonly missing: readonly string[]
  includes(namespace: string): boolean
}

/** Which types a backup takes. */
export interface ResourceScope {
  /** Whether objects of this type are collected. */
  collects(type: ScopedType): boolean
  /** Whether an object that something else brought along (a PV of a claim, a CRD) may be stored. */
  admits(type: ScopedType): boolean
  /**
   * Whether the user left this type out, as opposed to not naming it. The CRDs of custom resources are added when
   * their type is not excluded by name.
   */
  excludesByName(type: ScopedType): boolean
  /** Whether the user named this type, as opposed to taking everything. */
  includesByName(type: ScopedType): boolean
}

/** What the fine-grained filters of a resource policy say about one type in one namespace (empty: cluster scope). */
export interface FineFilter {
  /** Selectors to list with instead of the backup's own; empty: no selector. undefined leaves the backup's in force. */
  readonly labelSelectors: readonly string[] | undefined
  /** Looked at when an item is stored, also one that something else brought along. */
  includesName(name: string): boolean
}

/** A Namespace object, as far as filters look at it. */
export interface NamespaceFacts {
  name: string
  labels?: Readonly<Record<string, string>> | undefined
  /** `status.phase`: `Active` or `Terminating`. */
  phase?: string | undefined
}

/** Something worth telling about a filter: for `log.warn(fields, message)`. */
export interface ScopeWarning {
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** Everything that decides whether an object belongs to a backup. Pure: built once, asked often. */
export interface BackupScope {
  readonly namespaces: NamespaceScope
  readonly resources: ResourceScope
  /** To be listed with, one after the other, an object matching several being taken once; empty: no selector. */
  readonly labelSelectors: readonly string[]
  /** Objects to back up first, by type, as `namespace/name` or `name`, in order. */
  readonly ordered: ReadonlyMap<GroupResource, readonly string[]>
  /**
   * undefined: no fine filter concerns this type there. `'excluded'`: the policy leaves all of it out of the collection;
   * an item that something else brought along is stored all the same.
   */
  fineFilter(type: ScopedType, namespace: string): FineFilter | 'excluded' | undefined
  /**
   * Whether a Namespace object is taken for its own sake. Others are taken when at least one object in them was
   * collected. Both only if `resources` collects namespaces at all.
   */
  takesNamespace(namespace: NamespaceFacts): boolean
  /** Names that mean nothing in this cluster, filters without effect, namespaces that others manage. */
  readonly warnings: readonly ScopeWarning[]
}
