import type { ResolveResource } from '../../filters/resource-names.ts'
import type { GroupResource } from '../../item/item.ts'
import type { ArchivedType } from '../archive/backup-archive.ts'
import type { Priorities } from './priorities.ts'
import type { Tier, TierLevel } from './tier.ts'

/** What `orderTypes` goes by. */
export interface OrderOptions {
  types: readonly Pick<ArchivedType, 'groupResource'>[]
  priorities: Priorities
  /** Reads the names in the priorities; those that mean nothing in the cluster are taken as they are. */
  resolve: ResolveResource
}

/**
 * The types of an archive in the order in which they are restored: those of high priority, then all others by name, then those of
 * low priority. Every type is a tier of its own: also among the others order matters, though only the alphabet
 * sees to it. ControllerRevisions come before the StatefulSets and DaemonSets whose controllers would otherwise
 * make them anew, CronJobs before their Jobs.
 */
export function orderTypes({ types, priorities, resolve }: OrderOptions): Tier[] {
  const present = new Set(types.map(({ groupResource }) => groupResource))
  const named = (names: readonly string[]) =>
    names
      .map(name => resolve(name)?.groupResource ?? (name as GroupResource))
      .filter(type => present.delete(type))
  const high = named(priorities.high)
  const low = named(priorities.low)
  const other = [...present].sort((a, b) => (a < b ? -1 : 1))
  return [...tiersOf('high', high), ...tiersOf('other', other), ...tiersOf('low', low)]
}

function tiersOf(level: TierLevel, types: readonly GroupResource[]): Tier[] {
  return types.map(type => ({ level, types: [type] }))
}
