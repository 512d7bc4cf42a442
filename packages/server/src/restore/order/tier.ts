import type { GroupResource } from '../../item/item.ts'

/** Where a type stands in the list of priorities. */
export type TierLevel = 'high' | 'other' | 'low'

/** Types whose objects are restored side by side, once all tiers before are done. */
export interface Tier {
  readonly level: TierLevel
  readonly types: readonly GroupResource[]
}
