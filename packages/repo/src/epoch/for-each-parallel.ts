import { throwIfCancelled } from '../errors/repo-error.ts'

/** How many at once, and when to stop. */
export interface ParallelOptions {
  limit: number
  signal?: AbortSignal | undefined
}

/**
 * Works through the items, at most `limit` at once. Rejects with the first failure; no further item is begun then.
 * Throws `CANCELLED` between items.
 */
export async function forEachParallel<T>(
  items: Iterable<T>,
  { limit, signal }: ParallelOptions,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = iterate(items)
  // A throw inside the loop closes the generator, which ends the loops of the other workers.
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      throwIfCancelled(signal)
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, limit) }, worker))
}

function* iterate<T>(items: Iterable<T>): Generator<T> {
  yield* items
}
