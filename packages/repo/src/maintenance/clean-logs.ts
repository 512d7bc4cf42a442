import type { BlobMetadata } from '../blob/storage.ts'
import { excessLogs } from './excess-logs.ts'
import type { TaskContext } from './task-context.ts'

/** Which log blobs went, or would go, and which stay. */
export interface LogReport {
  deleted: BlobMetadata[]
  kept: BlobMetadata[]
}

/** Deletes diagnostic logs (`_…`) beyond the limits of the parameters. Without a lease it only looks. */
export async function cleanLogs({ repository, params, lease, signal }: TaskContext): Promise<LogReport> {
  const logs: BlobMetadata[] = []
  for await (const blob of repository.storage.list('_', { signal })) logs.push(blob)
  const { kept, excess } = excessLogs(logs, params.logRetention, repository.clock.now())
  if (lease !== undefined) {
    for (const { id } of excess) await repository.storage.delete(id, { signal })
  }
  return { deleted: excess, kept }
}
