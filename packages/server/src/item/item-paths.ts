import type { ItemRef } from './item.ts'

/** What the place of an item in an archive depends on. */
export interface StoredItem extends Pick<ItemRef, 'groupResource' | 'namespace' | 'name'> {
  /** The version that the object was read in. */
  readonly version: string
  /** The server prefers this version. */
  readonly preferred: boolean
}

/**
 * The entries of an archive that hold an item. One of the preferred version is stored twice, also where readers from
 * before versions look. Names are used as they are.
 */
export function itemPaths(item: StoredItem): string[] {
  const { groupResource, namespace, name, version, preferred } = item
  const place = namespace === '' ? 'cluster' : `namespaces/${namespace}`
  const root = `resources/${groupResource}`
  if (!preferred) return [`${root}/${version}/${place}/${name}.json`]
  return [`${root}/${place}/${name}.json`, `${root}/${version}-preferredversion/${place}/${name}.json`]
}
