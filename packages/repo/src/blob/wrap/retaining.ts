import { type Clock, systemClock } from '../../clock/clock.ts'
import type { BlobRetention, BlobStorage } from '../storage.ts'

/** How long blobs are protected from deletion. */
export interface RetainingOptions {
  readonly mode: BlobRetention['mode']
  readonly periodMs: number
  readonly clock?: Pick<Clock, 'now'> | undefined
}

/**
 * How the names of the blobs begin without which a repository cannot be read. Sessions, logs and the maintenance schedule are
 * replaced or removed in the course of business.
 */
export const protectedPrefixes: readonly string[] = ['n', 'x', 'kopia.repository', 'kopia.blobcfg', 'p', 'q']

/** Protects the blobs that a repository cannot be read without for a period from when they are put, as Kopia does. */
export function retaining(
  storage: BlobStorage,
  { mode, periodMs, clock = systemClock }: RetainingOptions,
): BlobStorage {
  return {
    description: storage.description,
    get: (id, options) => storage.get(id, options),
    head: (id, options) => storage.head(id, options),
    list: (prefix, options) => storage.list(prefix, options),
    retain: (id, retention, options) => storage.retain(id, retention, options),
    delete: (id, options) => storage.delete(id, options),
    put(id, data, options = {}) {
      if (!protectedPrefixes.some(prefix => id.startsWith(prefix))) return storage.put(id, data, options)
      return storage.put(id, data, { retention: { mode, until: clock.now() + periodMs }, ...options })
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
