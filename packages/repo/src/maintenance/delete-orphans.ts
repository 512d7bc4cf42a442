import type { BlobMetadata } from '../blob/storage.ts'
import { parseSessionMarker } from '../content/session-marker.ts'
import { isRepoError } from '../errors/repo-error.ts'
import { decryptBlob } from '../format/blob-crypto.ts'
import type { GoTime } from '../go-json/go-time.ts'
import { TaskPool } from '../snapshot/task-pool.ts'
import { type BlobFate, blobFate, sessionOf } from './blob-fate.ts'
import { watermarkOf } from './drop-deleted.ts'
import { referencedPacks } from './referenced-packs.ts'
import { count, emptyTally, type Tally } from './tally.ts'
import type { TaskContext } from './task-context.ts'

/** What pack deletion found. */
export interface OrphanReport {
  /** Deleted, or to be deleted when it only looked. */
  deleted: BlobMetadata[]
  /** Unreferenced blobs that stay, by the reason. */
  retained: Record<Exclude<BlobFate, 'delete' | 'referenced'>, Tally>
}

const parallelDeletions = 16
const deletionsPerLeaseCheck = 1000

/**
 * Deletes packs that no index entry points to, and session markers nobody needs. Without a lease it only looks.
 *
 * Packs are listed first, then sessions, then indexes are taken in: a pack that was listed is either in an index by
 * then, or its session's marker was listed, or its writer is dead.
 */
export async function deleteOrphans(context: TaskContext, dropBefore?: GoTime): Promise<OrphanReport> {
  const { repository, signal } = context
  // What an earlier step of a plan would drop counts as dropped when nothing is really done.
  const hiddenUpTo = context.lease === undefined && dropBefore !== undefined ? watermarkOf(dropBefore) : 0
  const listed: BlobMetadata[] = []
  for (const prefix of ['p', 'q', 's']) {
    for await (const blob of repository.storage.list(prefix, { signal })) listed.push(blob)
  }
  const sessions = await activeSessions(context, listed)
  await repository.refresh(signal)
  const now = await referencedPacks(repository, { hiddenUpTo, signal })
  const referenced = now.union(context.referencedAtStart ?? new Set<string>())
  const report = judge(context, listed, { sessions, referenced })
  if (context.lease !== undefined) await deleteAll(context, report.deleted)
  return report
}

interface Protection {
  /** Session to its newest checkpoint, in milliseconds. */
  sessions: ReadonlyMap<string, number>
  referenced: ReadonlySet<string>
}

function judge(context: TaskContext, listed: readonly BlobMetadata[], protection: Protection): OrphanReport {
  const report: OrphanReport = {
    deleted: [],
    retained: {
      'written-during-run': emptyTally(),
      'too-recent': emptyTally(),
      'session-active': emptyTally(),
    },
  }
  for (const blob of listed) {
    const session = sessionOf(blob.id)
    const fate = blobFate(blob, {
      referenced: protection.referenced.has(blob.id),
      sessionCheckpoint: session === undefined ? undefined : protection.sessions.get(session),
      maintenanceStart: context.maintenanceStart,
      safety: context.safety,
    })
    if (fate === 'delete') report.deleted.push(blob)
    else if (fate !== 'referenced') count(report.retained[fate], blob.length)
  }
  return report
}

async function activeSessions(
  context: TaskContext,
  listed: readonly BlobMetadata[],
): Promise<Map<string, number>> {
  const sessions = new Map<string, number>()
  for (const blob of listed) {
    const session = blob.id.startsWith('s') ? sessionOf(blob.id) : undefined
    if (session === undefined) continue
    const checkpoint = await checkpointOf(context, blob)
    if (checkpoint !== undefined) sessions.set(session, Math.max(checkpoint, sessions.get(session) ?? 0))
  }
  return sessions
}

async function checkpointOf(
  { repository, signal }: TaskContext,
  marker: BlobMetadata,
): Promise<number | undefined> {
  try {
    const bytes = await repository.storage.get(marker.id, { signal })
    return parseSessionMarker(decryptBlob(marker.id, bytes, repository.crypto)).checkpointTime
  } catch (error) {
    // The session ended since the listing: its index is taken in after this.
    if (isRepoError(error, 'BLOB_NOT_FOUND')) return undefined
    // A damaged marker still has the time at which it was written, which is that of its checkpoint.
    if (isRepoError(error, 'CORRUPT')) return marker.timestamp
    throw error
  }
}

async function deleteAll(context: TaskContext, blobs: readonly BlobMetadata[]): Promise<void> {
  const { repository, lease, signal } = context
  const pool = new TaskPool({ tasks: parallelDeletions, weight: parallelDeletions })
  for (const [position, { id }] of blobs.entries()) {
    if (position % deletionsPerLeaseCheck === 0) await lease?.confirm(signal)
    await pool.start(1, () => repository.storage.delete(id, { signal }))
  }
  await pool.drain()
}
