import type { ContentStore } from '../content/content-store.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { DirectoryEntry } from './directory.ts'
import { readDirectory } from './read-directory.ts'

/** Which entry of a snapshot is wanted. */
export interface FindEntryOptions {
  /** With slashes, below the root; the empty text or `.` is the root. */
  path: string
  signal?: AbortSignal | undefined
}

/** The entry at a path of a snapshot. Throws OBJECT_NOT_FOUND naming the part of the path that is missing. */
export async function findEntry(
  contents: ContentStore,
  root: DirectoryEntry,
  options: FindEntryOptions,
): Promise<DirectoryEntry> {
  const names = options.path.split('/').filter(name => name !== '' && name !== '.')
  let entry = root
  for (const [at, name] of names.entries()) {
    const child =
      entry.type === 'd'
        ? (await readDirectory(contents, entry, options.signal)).entries.find(other => other.name === name)
        : undefined
    if (child === undefined) {
      const missing = names.slice(0, at + 1).join('/')
      throw new RepoError('OBJECT_NOT_FOUND', {
        message: `the snapshot has no ${JSON.stringify(missing)}`,
        hint: 'list the folder above it to see the names it has',
        path: missing,
      })
    }
    entry = child
  }
  return entry
}
