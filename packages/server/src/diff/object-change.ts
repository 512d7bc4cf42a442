import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../item/item.ts'

/** What happened to an object between two looks at it. */
export type ChangeKind = 'added' | 'removed' | 'changed'

/** An object that is not the same on both sides. */
export interface ObjectChange {
  readonly change: ChangeKind
  readonly groupResource: GroupResource
  readonly namespace: string
  readonly name: string
  /** As far as they are worth comparing; one of them is undefined for what was added or removed. */
  readonly before?: ActionItem | undefined
  readonly after?: ActionItem | undefined
}
