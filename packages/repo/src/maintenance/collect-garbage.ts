import { throwIfCancelled } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { type ContentFate, contentFate } from './content-fate.ts'
import type { MaintenanceLease } from './lease.ts'
import { markUsedContents } from './mark-used.ts'
import { count, emptyTally, type Tally } from './tally.ts'
import type { TaskContext } from './task-context.ts'

/** How many contents met which fate. */
export type GarbageReport = Record<ContentFate, Tally>

// Changes are held back and made in one go, so that a deletion carries the time at which it becomes visible.
const changesPerFlush = 100_000

/**
 * Marks contents that no snapshot needs as deleted, and deleted ones that a snapshot needs as live again. Without a
 * lease it only counts. Throws what `markUsedContents` throws, and `LOCKED` before a change when the lease is lost.
 */
export async function collectGarbage(context: TaskContext): Promise<GarbageReport> {
  const { repository, lease, maintenanceStart, safety, signal } = context
  const used = await markUsedContents(repository, { signal, onEntry: lease && (() => lease.keep(signal)) })
  const report = emptyGarbageReport()
  let changes = emptyChanges()
  for await (const entry of repository.contents.entries({ includeDeleted: true, signal })) {
    const fate = contentFate({ ...entry, used: used.has(entry.contentId) }, maintenanceStart, safety)
    count(report[fate], entry.packedLength)
    if (lease === undefined) continue
    if (fate === 'undelete') changes.undelete.push(entry.contentId)
    if (fate === 'mark-deleted') changes.delete.push(entry.contentId)
    if (changes.delete.length + changes.undelete.length < changesPerFlush) continue
    await apply(context, lease, changes)
    changes = emptyChanges()
  }
  if (lease !== undefined) await apply(context, lease, changes)
  return report
}

interface Changes {
  delete: ContentId[]
  undelete: ContentId[]
}

async function apply(context: TaskContext, lease: MaintenanceLease, changes: Changes): Promise<void> {
  if (changes.delete.length + changes.undelete.length === 0) return
  const { repository, signal } = context
  await lease.confirm(signal)
  await repository.writing({ signal }, async ({ contents }) => {
    for (const id of changes.undelete) {
      throwIfCancelled(signal)
      await contents.undelete(id, signal)
    }
    for (const id of changes.delete) {
      throwIfCancelled(signal)
      await contents.delete(id, signal)
    }
  })
}

function emptyChanges(): Changes {
  return { delete: [], undelete: [] }
}

/** A report in which nothing was met. */
export function emptyGarbageReport(): GarbageReport {
  return {
    system: emptyTally(),
    'in-use': emptyTally(),
    undelete: emptyTally(),
    'too-recent': emptyTally(),
    'mark-deleted': emptyTally(),
    'already-deleted': emptyTally(),
  }
}
