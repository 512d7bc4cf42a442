import type { GoTime } from '../go-json/go-time.ts'
import { moveWatermark } from './epoch-tasks.ts'
import { count, emptyTally, type Tally } from './tally.ts'
import type { TaskContext } from './task-context.ts'

/**
 * Drops contents that were marked deleted at or before a time: they are hidden from everybody, and what only they
 * needed can be deleted. Without a lease it only counts.
 */
export async function dropDeletedContents(context: TaskContext, dropBefore: GoTime): Promise<Tally> {
  const { repository, lease, signal } = context
  const watermark = watermarkOf(dropBefore)
  const hidden = emptyTally()
  for await (const entry of repository.contents.entries({ includeDeleted: true, signal })) {
    if (entry.deleted && entry.timestamp <= watermark) count(hidden, entry.packedLength)
  }
  if (lease === undefined) return hidden
  await moveWatermark(context, watermark)
  await repository.refresh(signal)
  return hidden
}

/** The watermark for a drop time: whole seconds, rounded down. */
export function watermarkOf(dropBefore: GoTime): number {
  return Number(dropBefore / 1_000_000_000n)
}
