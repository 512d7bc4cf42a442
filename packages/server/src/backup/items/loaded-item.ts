import type { ActionItem } from '@lateen/plugin'
import type { ItemRef } from '../../item/item.ts'

/** An object with its body. */
export interface LoadedItem {
  readonly ref: ItemRef
  /** The collector found it, as opposed to something that named it. */
  readonly collected: boolean
  /** It is in the version that the server prefers. */
  readonly preferred: boolean
  /** As the API server sent it. */
  readonly bytes: Uint8Array
  readonly object: ActionItem
}

/** What a group of items that belong together is searched by. */
export type ItemsByKey = ReadonlyMap<string, readonly LoadedItem[]>
