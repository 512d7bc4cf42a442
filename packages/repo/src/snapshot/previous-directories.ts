import { corrupt, isRepoError } from '../errors/repo-error.ts'
import { type ObjectId, objectId } from '../object/object-id.ts'
import { openObject } from '../object/object-reader.ts'
import { isStoredAs, parseStoredEntries, type StoredEntry } from './directory.ts'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import type { UploadRun } from './upload-run.ts'
import type { SourceEntry } from './walk/source-entry.ts'

/** A directory of an earlier snapshot, by the names of its entries. */
export type PreviousDirectory = ReadonlyMap<string, StoredEntry>

// Longer ones are not worth holding as text and as entries; their files are read again.
const largestDirectory = 1 << 29

/**
 * The snapshots of one source to compare with: the newest complete one, and the incomplete ones that began after it.
 */
export function choosePrevious(snapshots: readonly SnapshotManifest[]): SnapshotManifest[] {
  const complete = snapshots
    .filter(snapshot => !snapshot.incomplete)
    .reduce<SnapshotManifest | undefined>((newest, next) => {
      return newest && newest.startTime >= next.startTime ? newest : next
    }, undefined)
  const after = complete?.startTime ?? 0n
  const incomplete = snapshots.filter(snapshot => snapshot.incomplete && snapshot.startTime > after)
  return complete ? [complete, ...incomplete] : incomplete
}

/** Reads earlier directories, each object once. One that cannot be read is left out: its files are read again. */
export async function openPrevious(
  run: UploadRun,
  objects: readonly ObjectId[],
): Promise<PreviousDirectory[]> {
  const opened: PreviousDirectory[] = []
  for (const objectId of new Set(objects)) {
    try {
      opened.push(await openDirectory(run, objectId))
    } catch (error) {
      if (!isRepoError(error) || error.code === 'CANCELLED') throw error
      run.settings.log.warn(
        { objectId, error: error.message },
        'a directory of the previous snapshot is unreadable',
      )
    }
  }
  return opened
}

/** The objects of the subdirectories of that name. */
export function previousChildren(previous: readonly PreviousDirectory[], name: string): ObjectId[] {
  return previous.flatMap(directory => {
    const entry = directory.get(name)
    const object = entry?.type === 'd' ? objectOf(entry) : undefined
    return object === undefined ? [] : [object]
  })
}

/** The object of an earlier snapshot that holds what a file or symlink holds now, judged by its metadata. */
export function findUnchanged(
  previous: readonly PreviousDirectory[],
  entry: SourceEntry,
): ObjectId | undefined {
  // U+FFFD in a stored name may stand for any byte, so that two files may have been stored under one name.
  if (previous.length === 0 || entry.name.includes('\ufffd')) return undefined
  const { mode, size, mtime, uid, gid } = entry
  const wanted = {
    type: entry.kind === 'symlink' ? ('s' as const) : ('f' as const),
    mode,
    size,
    mtime,
    uid,
    gid,
  }
  for (const directory of previous) {
    const before = directory.get(entry.name)
    if (before && isStoredAs(before, wanted)) return objectOf(before)
  }
  return undefined
}

async function openDirectory(run: UploadRun, objectId: ObjectId): Promise<PreviousDirectory> {
  const reader = await openObject(run.target.contents, objectId, run.signal)
  if (reader.length > largestDirectory) throw corrupt('it is too long to be a directory', { objectId })
  const entries = parseStoredEntries(await reader.read(0, reader.length, run.signal))
  return new Map(entries.map(entry => [String(entry.name ?? ''), entry]))
}

function objectOf(entry: StoredEntry): ObjectId | undefined {
  try {
    return objectId(String(entry.obj))
  } catch {
    return undefined
  }
}
