import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import type { BlobStorage } from '../blob/storage.ts'
import { RepoError } from '../errors/repo-error.ts'
import { createRepository, openRepository } from '../repository.ts'
import { chunksOf } from './object-reader.ts'

/** The storage, whose packs of metadata do not answer. */
function awayFor(storage: BlobStorage): { storage: BlobStorage; error: RepoError } {
  const error = new RepoError('STORAGE_FAILED', { message: 'The storage is away', retryable: true })
  const get: BlobStorage['get'] = (id, options) =>
    id.startsWith('q') ? Promise.reject(error) : storage.get(id, options)
  return { error, storage: { ...storage, get } }
}

describe('an object in many chunks', () => {
  it('does not take a storage that is away for a damaged index object', async () => {
    const kept = memoryStorage()
    await using repository = await createRepository({ storage: kept, password: 'secret' })
    const id = await repository.writing({}, ({ objects }) =>
      objects.put(randomBytes(3 << 20), { splitter: 'FIXED-1M' }),
    )
    const { storage, error } = awayFor(kept)
    await using opened = await openRepository({ storage, password: 'secret' })
    await assert.rejects(chunksOf(opened.contents, id), error)
  })
})
