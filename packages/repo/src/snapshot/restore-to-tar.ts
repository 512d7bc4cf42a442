import type { ContentStore } from '../content/content-store.ts'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { openObject } from '../object/object-reader.ts'
import type { DirectoryEntry } from './directory.ts'
import { childPath, formatEntryPath, siftEntries } from './entry-name.ts'
import { unixModeFromGo } from './go-file-mode.ts'
import { storedName } from './name.ts'
import { type RestoreProgress, RestoreReport, type RestoreResult } from './restore-report.ts'
import { serializeTarHeader, type TarEntry, tarEnd, tarPadding } from './tar-header.ts'
import { type WalkedEntry, walkSnapshot } from './walk-snapshot.ts'
import { wrongLength } from './write-object.ts'

/** What goes into an archive. */
export interface RestoreToTarOptions {
  contents: ContentStore
  /** The root of a snapshot, or any entry below it (see `findEntry`). */
  entry: DirectoryEntry
  onProgress?: (progress: Readonly<RestoreProgress>) => void
  signal?: AbortSignal | undefined
}

const zeros = Buffer.alloc(64 * 1024)

/**
 * A tree as the bytes of a tar archive, read as the consumer takes them, one chunk in memory at a time. An entry that
 * cannot be read is left out, or filled with zeros when part of it has gone out already; the archive is completed all the
 * same and its last step throws an error that names the entries, so that the archive is never taken for a whole one.
 * Returns what was restored. Throws CANCELLED.
 */
export async function* restoreToTar(
  options: RestoreToTarOptions,
): AsyncGenerator<Uint8Array, RestoreResult, undefined> {
  const { contents, entry: root, signal, onProgress } = options
  const totals = root.summary && { files: root.summary.files, bytes: root.summary.size }
  const report = new RestoreReport(totals, { failFast: false, onProgress })
  const walk = walkSnapshot(contents, root, {
    signal,
    select: (directory, entries) => admitEntries(report, directory, entries),
    onDirectoryError: ({ path }, error) => report.fail(path, error),
  })
  for await (const walked of walk) {
    throwIfCancelled(signal)
    yield* archiveEntry(options, walked, report)
  }
  yield tarEnd
  const result = report.result()
  if (result.failed > 0) throw incomplete(result)
  return result
}

async function* archiveEntry(
  options: RestoreToTarOptions,
  walked: WalkedEntry,
  report: RestoreReport,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { entry } = walked
  const name = tarName(walked)
  try {
    if (entry.type === 'd') {
      yield serializeTarHeader({ ...attributes(entry), path: `${name}/`, type: 'directory' })
      report.count('folders')
    } else if (entry.type === 's') {
      const reader = await openObject(options.contents, entry.obj, options.signal)
      const target = await reader.read(0, Math.min(reader.length, 64 * 1024), options.signal)
      yield serializeTarHeader({ ...attributes(entry), path: name, type: 'symlink', target })
      report.count('symlinks')
    } else if (entry.type === 'f') {
      yield* archiveFile(options, walked, report)
    } else {
      throw new RepoError('UNSUPPORTED_FORMAT', { message: 'its kind is unknown' })
    }
  } catch (error) {
    report.fail(walked.path, error)
  }
}

async function* archiveFile(
  options: RestoreToTarOptions,
  walked: WalkedEntry,
  report: RestoreReport,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { entry } = walked
  const reader = await openObject(options.contents, entry.obj, options.signal)
  const { size } = entry
  if (reader.length !== size) throw wrongLength(reader, size)
  const pieces = reader.stream({ signal: options.signal })[Symbol.asyncIterator]()
  // The header promises bytes, so the first of them are read before it goes out.
  let piece = await pieces.next()
  yield serializeTarHeader({ ...attributes(entry), path: tarName(walked), type: 'file', size })
  let sent = 0
  try {
    for (; !piece.done; piece = await pieces.next()) {
      sent += piece.value.length
      report.count('bytes', piece.value.length)
      yield piece.value
    }
    report.count('files')
  } catch (error) {
    report.fail(walked.path, error)
  }
  yield* fill(size - sent + tarPadding(size))
}

function admitEntries(
  report: RestoreReport,
  directory: WalkedEntry,
  entries: DirectoryEntry[],
): DirectoryEntry[] {
  const { good, bad } = siftEntries(entries)
  for (const { entry, reason } of bad) {
    report.fail(
      childPath(directory.path, entry.name),
      new RepoError('UNSAFE_PATH', { message: `the name is refused: ${reason}` }),
    )
  }
  return good
}

function* fill(length: number): Generator<Uint8Array> {
  for (let rest = length; rest > 0; rest -= zeros.length)
    yield zeros.subarray(0, Math.min(rest, zeros.length))
}

function attributes(entry: DirectoryEntry): Omit<TarEntry, 'path' | 'type'> {
  const { uid, gid, mtime } = entry
  return { uid, gid, mtime, mode: entry.type === 's' ? 0o777 : unixModeFromGo(entry.mode), size: 0 }
}

function tarName({ entry, path }: WalkedEntry): string {
  if (path === undefined)
    return entry.type === 'd' ? '.' : storedName(entry.name).replaceAll('/', '_') || 'file'
  return storedName(formatEntryPath(path))
}

function incomplete({ failed, problems }: RestoreResult): RepoError {
  const names = problems.slice(0, 3).map(({ error }) => error.message)
  return new RepoError('CORRUPT', {
    message: `${failed} entries of the archive are missing or filled with zeros: ${names.join('; ')}`,
    hint: 'run verify to see which blobs are damaged',
    cause: problems[0]?.error,
  })
}
