import { corrupt, isRepoError } from '../errors/repo-error.ts'
import { type ObjectId, objectId } from '../object/object-id.ts'
import { openObject } from '../object/object-reader.ts'
import {
  type Directory,
  isEndOf,
  isStoredAs,
  isStoredExactlyAs,
  isStoredOrder,
  parseStoredDirectory,
  type StoredDirectory,
  type StoredEntry,
} from './directory.ts'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import type { UploadRun } from './upload-run.ts'
import type { SourceEntry } from './walk/source-entry.ts'

/** A directory of an earlier snapshot. */
export interface PreviousDirectory {
  readonly objectId: ObjectId
  readonly stored: StoredDirectory
  readonly byName: ReadonlyMap<string, StoredEntry>
}

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
    const entry = directory.byName.get(name)
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
    const before = directory.byName.get(entry.name)
    if (before && isStoredAs(before, wanted)) return objectOf(before)
  }
  return undefined
}

/**
 * The object of an earlier directory that has exactly the bytes which this one would have, judged without encoding either;
 * undefined when there is none.
 */
export function findSameDirectory(
  previous: readonly PreviousDirectory[],
  directory: Required<Directory>,
): ObjectId | undefined {
  return previous.find(before => isSame(before, directory))?.objectId
}

function isSame({ stored, byName }: PreviousDirectory, { entries, summary }: Required<Directory>): boolean {
  if (entries.length === 0 || entries.length !== stored.entries.length || !isEndOf(stored, summary))
    return false
  for (const entry of entries) {
    const before = byName.get(entry.name)
    if (before === undefined || !isStoredExactlyAs(before, entry)) return false
  }
  return isStoredOrder(stored.entries)
}

async function openDirectory(run: UploadRun, objectId: ObjectId): Promise<PreviousDirectory> {
  const reader = await openObject(run.target.contents, objectId, run.signal)
  if (reader.length > largestDirectory) throw corrupt('it is too long to be a directory', { objectId })
  const stored = parseStoredDirectory(await reader.read(0, reader.length, run.signal))
  const byName = new Map<string, StoredEntry>()
  for (const entry of stored.entries) byName.set(String(entry.name ?? ''), entry)
  return { objectId, stored, byName }
}

function objectOf(entry: StoredEntry): ObjectId | undefined {
  try {
    return objectId(String(entry.obj))
  } catch {
    return undefined
  }
}
