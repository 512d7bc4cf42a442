import type { ObjectId } from '../object/object-id.ts'
import type { DirectoryEntry, DirectorySummary } from './directory.ts'
import type { StoredFile } from './upload-file.ts'
import type { SourceEntry } from './walk/source-entry.ts'

/** The entry for a file or symlink whose data is stored. */
export function fileEntryOf(source: SourceEntry, { obj, size }: StoredFile): DirectoryEntry {
  const { name, mode, mtime, uid, gid } = source
  return { name, type: source.kind === 'symlink' ? 's' : 'f', mode, size, mtime, uid, gid, obj }
}

/** The entry for a directory that is stored. */
export function directoryEntryOf(
  source: SourceEntry,
  obj: ObjectId,
  summary: DirectorySummary,
): DirectoryEntry {
  const { name, mode, mtime, uid, gid } = source
  return { name, type: 'd', mode, size: 0, mtime, uid, gid, obj, summary }
}
