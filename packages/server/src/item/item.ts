import type { ResourceType, Unstructured } from '@lateen/kube'

/** `pods`, `deployments.apps`: how resources are called in archives, filters and lists. */
export type GroupResource = string & { readonly kind: 'GroupResource' }

export function groupResource({ group, plural }: { group: string; plural: string }): GroupResource {
  return (group === '' ? plural : `${plural}.${group}`) as GroupResource
}

/** An object of the cluster by where it is, without its body. */
export interface ItemRef {
  readonly type: ResourceType<Unstructured>
  readonly groupResource: GroupResource
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
}

/** One string for each object of one cluster; objects of different kinds never share one. */
export function itemKey({
  groupResource,
  namespace,
  name,
}: Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>): string {
  return `${groupResource}/${namespace}/${name}`
}

/**
 * An object that the collector found and keeps in scratch. Made anew at each request, so that a hundred thousand of them need
 * little memory: two of them are the same object if their `index` is.
 */
export interface CollectedItem extends ItemRef {
  /** Position among all collected items, from 0. */
  readonly index: number
  /** `type.version` is the version that the server prefers. Others are collected only where all versions are asked for. */
  readonly preferred: boolean
  /** Named in `orderedResources`: backed up first and in order. */
  readonly ordered: boolean
  /** Carries the label that keeps it out of backups. */
  readonly excludedByLabel: boolean
  /** Has a deletion timestamp. */
  readonly terminating: boolean
}

/** What was collected, in the order in which it is backed up. Bodies are on disk. */
export interface CollectedItems extends AsyncDisposable {
  readonly count: number
  [Symbol.iterator](): Iterator<CollectedItem>
  /** The item, if it was collected; of several versions the first collected. */
  find(item: Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>): CollectedItem | undefined
  /** All collected versions of the object, in order: one, unless all versions were asked for. */
  versionsOf(item: Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>): readonly CollectedItem[]
  /**
   * The object's JSON with apiVersion and kind, as the server sent it. May be called from several places at once. The bytes
   * are part of a larger block: use them and let them go. Throws ScratchError when scratch cannot be read.
   */
  load(item: CollectedItem): Promise<Uint8Array>
}
