import type { ObjectId } from '../object/object-id.ts'
import {
  type DirectoryEntry,
  type DirectorySummary,
  serializeDirectory,
  serializeDirectoryInPieces,
} from './directory.ts'
import type { UploadRun } from './upload-run.ts'

// Larger ones are encoded and written piece by piece.
const entriesInOneGo = 4096

/** Writes a directory object. Throws what the repository throws. */
export async function storeDirectory(
  run: UploadRun,
  directory: { entries: DirectoryEntry[]; summary: DirectorySummary },
): Promise<{ obj: ObjectId; summary: DirectorySummary }> {
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
