import type { ContentStore } from '../content/content-store.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { openObject } from '../object/object-reader.ts'
import { type Directory, type DirectoryEntry, parseDirectory } from './directory.ts'

// A directory object is held as text and as entries while it is parsed; this is some five million entries.
const largestDirectory = 1 << 30

/** Reads the directory that an entry stands for. Throws CORRUPT, CONTENT_NOT_FOUND or what the storage throws. */
export async function readDirectory(
  contents: ContentStore,
  entry: DirectoryEntry,
  signal?: AbortSignal,
): Promise<Directory> {
  const reader = await openObject(contents, entry.obj, signal)
  if (reader.length > largestDirectory) {
    throw new RepoError('CORRUPT', {
      message: `the directory object ${entry.obj} claims ${reader.length} bytes, more than any directory has`,
      objectId: entry.obj,
    })
  }
  try {
    return parseDirectory(await reader.read(0, reader.length, signal))
  } catch (error) {
    if (!isRepoError(error, 'CORRUPT') || error.objectId !== undefined) throw error
    throw new RepoError('CORRUPT', {
      message: `${entry.obj}: ${error.message}`,
      hint: error.hint,
      objectId: entry.obj,
      blobId: error.blobId,
      contentId: error.contentId,
      cause: error,
    })
  }
}
