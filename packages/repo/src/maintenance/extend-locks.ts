import type { BlobId, BlobMetadata } from '../blob/storage.ts'
import { protectedPrefixes } from '../blob/wrap/retaining.ts'
import { isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { BlobRetention } from '../format/blob-config.ts'
import { TaskPool } from '../snapshot/task-pool.ts'
import type { TaskContext } from './task-context.ts'

/** Which blobs are, or would be, protected for longer. */
export interface LockReport {
  extended: BlobMetadata[]
  retention: BlobRetention
}

const parallelExtensions = 16

/**
 * Protects every blob that the repository protects for another period from now. Undefined when it protects none; without a
 * lease it only looks. All blobs are tried; then throws `STORAGE_FAILED` if some failed. One that was deleted meanwhile did not.
 */
export async function extendLocks(context: TaskContext): Promise<LockReport | undefined> {
  const { repository, lease, signal } = context
  const { retention } = repository.format.blobConfig
  if (retention === undefined) return undefined
  const extended: BlobMetadata[] = []
  for (const prefix of protectedPrefixes) {
    for await (const blob of repository.storage.list(prefix, { signal })) extended.push(blob)
  }
  if (lease !== undefined) await extendAll(context, { extended, retention })
  return { extended, retention }
}

async function extendAll(
  { repository, signal }: TaskContext,
  { extended, retention: { mode, period } }: LockReport,
): Promise<void> {
  const { storage, clock } = repository
  const failed: { id: BlobId; error: unknown }[] = []
  const pool = new TaskPool({ tasks: parallelExtensions, weight: parallelExtensions })
  for (const { id } of extended) {
    throwIfCancelled(signal)
    await pool.start(1, async () => {
      try {
        await storage.retain(id, { mode, until: clock.now() + period }, { signal })
      } catch (error) {
        if (!isRepoError(error, 'BLOB_NOT_FOUND')) failed.push({ id, error })
      }
    })
  }
  await pool.drain()
  throwIfCancelled(signal)
  const [first] = failed
  if (first !== undefined) throw notExtended(first, { failed: failed.length, of: extended.length })
}

function notExtended(
  { id, error }: { id: BlobId; error: unknown },
  { failed, of }: { failed: number; of: number },
): RepoError {
  const reason = error instanceof Error ? error.message : String(error)
  return new RepoError('STORAGE_FAILED', {
    message: `The locks of ${failed} of ${of} blobs could not be extended; of ${id}: ${reason}`,
    hint: 'Allow s3:PutObjectRetention in a bucket with object lock, then run the maintenance again.',
    blobId: id,
    cause: error,
  })
}
