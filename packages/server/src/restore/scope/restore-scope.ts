import type { ScopeWarning } from '../../filters/scope.ts'
import type { GroupResource, ItemRef } from '../../item/item.ts'

/** Why an object of a backup is not restored. */
export type Exclusion =
  | 'resource excluded'
  | 'namespace excluded'
  | 'cluster-scoped resources excluded'
  | 'not in the filter policy'
  | 'labels do not match'
  | 'name does not match'

/** Where objects are: a type and, unless it is empty, a namespace as it is called in the backup. */
export interface ItemPlace {
  readonly groupResource: GroupResource
  readonly namespace: string
}

/** What the filters look at in an object. */
export interface ObjectFacts {
  readonly name: string
  readonly kind: string
  readonly labels: Readonly<Record<string, string>> | undefined
}

/** Whether an object gets back its status. */
export interface StatusChoice {
  readonly restores: boolean
  /** The annotation's value, if it says neither yes nor no and so was not followed. */
  readonly ignored?: string | undefined
}

/** Everything that decides which objects of a backup are restored, and where to. Pure: built once, asked often. */
export interface RestoreScope {
  /** Why nothing of this type in this namespace is restored; undefined: some of it may be. */
  excludesPlace(place: ItemPlace): Exclusion | undefined
  /** Whether `excludesObject` can say anything about objects in this place: else they need not be read to be counted. */
  dependsOnObject(place: ItemPlace): boolean
  /** Why an object is not restored, in a place that is not excluded; undefined: it is. */
  excludesObject(place: ItemPlace, object: ObjectFacts): Exclusion | undefined
  /**
   * Why an object that an action brought along is not restored. Labels, names and filter policies do not matter to
   * such an object, nor does it matter whether all namespaces are restored. Whoever is told to include it does not ask.
   */
  excludesAdditional(place: ItemPlace): Exclusion | undefined
  /** What the namespace is called in the cluster. Empty stays empty. */
  targetNamespace(namespace: string): string
  restoresStatus(
    item: Pick<ItemRef, 'groupResource'>,
    annotations: Readonly<Record<string, string>> | undefined,
  ): StatusChoice
  /** Names that mean nothing, filters without effect, namespaces that run into each other. */
  readonly warnings: readonly ScopeWarning[]
}
