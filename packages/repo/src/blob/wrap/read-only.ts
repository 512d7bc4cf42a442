import { RepoError } from '../../errors/repo-error.ts'
import type { BlobId, BlobStorage } from '../storage.ts'

/** The storage without the ways to change it: `put`, `retain` and `delete` reject with `READ_ONLY`. */
export function readOnly(storage: BlobStorage): BlobStorage {
  const refused = (doing: string, id: BlobId) =>
    new RepoError('READ_ONLY', {
      message: `Cannot ${doing} blob ${id}: ${storage.description} was opened read-only`,
      hint: 'Open the repository for writing.',
      blobId: id,
    })
  return {
    description: storage.description,
    get: (id, options) => storage.get(id, options),
    head: (id, options) => storage.head(id, options),
    list: (prefix, options) => storage.list(prefix, options),
    async put(id) {
      throw refused('write', id)
    },
    async retain(id) {
      throw refused('protect', id)
    },
    async delete(id) {
      throw refused('delete', id)
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
