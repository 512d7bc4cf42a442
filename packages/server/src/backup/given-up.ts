import type { BackupStore } from '../backup-store/backup-store.ts'
import { messageOf } from '../item/item-error.ts'
import { PublishError, withoutFiles } from './publish-backup.ts'
import type { RunOperations } from './run-operations.ts'

export interface GivenUp {
  operations: Pick<RunOperations, 'abandon'>
  store: BackupStore
  /** The backup's name. */
  name: string
  signal: AbortSignal
}

/**
 * Stops what a backup has begun that failed with this error, and deletes its files only then: by them alone the next server finds what
 * was begun. Returns what is to be thrown: a PublishError with leftovers when not everything could be stopped.
 */
export async function givenUp(
  error: unknown,
  { operations, store, name, signal }: GivenUp,
): Promise<unknown> {
  const isStopped = await operations.abandon(messageOf(error))
  if (!isStopped) return error instanceof PublishError ? error : new PublishError(error, true)
  // Who stops has no time to tidy up, and is found out at the next start.
  if (!(error instanceof PublishError) || signal.aborted) return error
  return await withoutFiles(error.cause, { store, name, signal })
}
