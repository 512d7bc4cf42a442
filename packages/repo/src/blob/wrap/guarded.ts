import type { BlobId, BlobStorage } from '../storage.ts'

/** Throws when a change may not be made. */
export type Guard = (change: 'put' | 'retain' | 'delete', id: BlobId) => void

/** The storage, which asks a guard right before each change: `put`, `retain` and `delete` reject with what it throws. */
export function guarded(storage: BlobStorage, guard: Guard): BlobStorage {
  return {
    description: storage.description,
    get: (id, options) => storage.get(id, options),
    head: (id, options) => storage.head(id, options),
    list: (prefix, options) => storage.list(prefix, options),
    async put(id, data, options) {
      guard('put', id)
      await storage.put(id, data, options)
    },
    async retain(id, retention, options) {
      guard('retain', id)
      await storage.retain(id, retention, options)
    },
    async delete(id, options) {
      guard('delete', id)
      await storage.delete(id, options)
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
