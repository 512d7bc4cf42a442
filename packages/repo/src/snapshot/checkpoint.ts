import { isRepoError, RepoError } from '../errors/repo-error.ts'
import type { ObjectWriter } from '../object/object-writer.ts'
import type { DirectoryEntry } from './directory.ts'
import { DirectoryBuilder } from './directory-builder.ts'
import { directoryEntryOf, fileEntryOf } from './entry-of-source.ts'
import { storeDirectory } from './store-directory.ts'
import type { UploadRun } from './upload-run.ts'
import type { SourceEntry } from './walk/source-entry.ts'

/** A file whose data is being written. */
export interface ActiveFile {
  entry: SourceEntry
  writer: Pick<ObjectWriter, 'checkpoint'>
}

/** A directory in work: what is finished in it, and what is not. */
export class ActiveDirectory {
  readonly entry: SourceEntry
  readonly builder = new DirectoryBuilder()
  readonly children = new Set<ActiveDirectory>()
  readonly files = new Set<ActiveFile>()

  constructor(entry: SourceEntry) {
    this.entry = entry
  }

  /** Takes a file into checkpoints until the returned function is called. */
  addFile(file: ActiveFile): () => void {
    this.files.add(file)
    return () => this.files.delete(file)
  }
}

/** Stores a directory as far as it is finished, with everything in work below it. */
export async function checkpointDirectory(run: UploadRun, active: ActiveDirectory): Promise<DirectoryEntry> {
  const builder = active.builder.clone()
  for (const child of [...active.children]) builder.add(await checkpointDirectory(run, child))
  for (const { entry, writer } of [...active.files]) {
    const obj = await writer.checkpoint()
    if (obj === undefined) continue
    // Under its own name the next upload would take this part for the whole file.
    const name = `.checkpointed.${entry.name}.${run.settings.newUuid()}`
    builder.add({ ...fileEntryOf(entry, { obj, size: entry.size }), name })
  }
  const { obj, summary } = await storeDirectory(run, builder.build(active.entry.mtime, 'checkpoint'))
  return directoryEntryOf(active.entry, obj, summary)
}

/** Calls `save` every checkpoint interval until `work` has ended; an error of `save` ends the upload. */
export async function withCheckpoints<T>(
  run: UploadRun,
  save: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const checkpoints = repeat(run, save, ended.signal)
  try {
    const result = await work()
    ended.abort()
    await checkpoints
    run.throwIfFailed()
    return result
  } finally {
    ended.abort()
    await checkpoints
  }
}

async function repeat(run: UploadRun, save: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      await run.settings.clock.sleep(run.settings.checkpointInterval, signal)
      await save()
    }
  } catch (error) {
    if (signal.aborted && isRepoError(error, 'CANCELLED')) return
    run.fail(
      isRepoError(error)
        ? error
        : new RepoError('STORAGE_FAILED', { message: 'A checkpoint could not be saved', cause: error }),
    )
  }
}
