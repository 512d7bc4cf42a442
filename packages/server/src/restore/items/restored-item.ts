import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../../item/item.ts'

/** What a restore did about an object. The words of the resource list, of plans and of reports. */
export const restoreActions = ['created', 'updated', 'skipped', 'failed'] as const

export type RestoreAction = (typeof restoreActions)[number]

/** What became of an object of the backup. */
export interface RestoredItem {
  /** As it was sent to the cluster; an action may have changed both. */
  readonly apiVersion: string
  readonly kind: string
  readonly groupResource: GroupResource
  /** Where it was restored to; empty for objects without a namespace. */
  readonly namespace: string
  /** As the cluster calls it, where that is known, else as the backup does. */
  readonly name: string
  readonly action: RestoreAction
  /** Why, in a few words that are the same for all objects with the same fate; for refusals what the server said. */
  readonly reason: string
  /** What a reader of a plan must know of it, such as `not dry-run: namespace absent`. */
  readonly note?: string | undefined
}

/** A restored object with what was compared, for those who show differences. Both are only lent. */
export interface RestoredObject {
  readonly item: RestoredItem
  /** Namespace and name in the backup. */
  readonly source: { readonly namespace: string; readonly name: string }
  /** What the restore wanted to be there; undefined when it did not come so far. */
  readonly desired?: ActionItem | undefined
  /** What was there before, without metadata of the server and without status; undefined when nothing was. */
  readonly live?: ActionItem | undefined
}
