import type { ObjectId } from '../object/object-id.ts'
import {
  type DirectoryEntry,
  type DirectorySummary,
  serializeDirectory,
  serializeDirectoryInPieces,
  sortEntries,
} from './directory.ts'
import { findSameDirectory, type PreviousDirectory } from './previous-directories.ts'
import type { UploadRun } from './upload-run.ts'

// Larger ones are encoded and written piece by piece.
const entriesInOneGo = 4096

/**
 * Writes a directory object, its entries given in any order, unless one of the earlier directories has the same bytes. Throws
 * what the repository throws.
 */
export async function storeDirectory(
  run: UploadRun,
  directory: { entries: DirectoryEntry[]; summary: DirectorySummary },
  previous: readonly PreviousDirectory[] = [],
): Promise<{ obj: ObjectId; summary: DirectorySummary }> {
  const same = findSameDirectory(previous, directory)
  if (same !== undefined && (await run.kept.ask(same))) return { obj: same, summary: directory.summary }
  sortEntries(directory.entries)
  const compressor = run.settings.directoryCompressor
  const options = {
    prefix: 'k',
    compressor,
    metadataCompressor: compressor ?? '',
    signal: run.signal,
  }
  if (directory.entries.length <= entriesInOneGo) {
    return { obj: await run.small.put(serializeDirectory(directory), options), summary: directory.summary }
  }
  const writer = run.target.objects.create(options)
  for (const piece of serializeDirectoryInPieces(directory)) {
    await writer.write(piece)
    await run.breathe()
  }
  return { obj: await writer.finish(), summary: directory.summary }
}
