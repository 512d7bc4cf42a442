import type { ContentStore } from '../content/content-store.ts'
import { isRepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { Directory, DirectoryEntry } from './directory.ts'
import { childPath, type EntryPath } from './entry-name.ts'
import { readDirectory } from './read-directory.ts'

/** One entry met on the walk. */
export interface WalkedEntry {
  entry: DirectoryEntry
  /** Where it is below the root; that of the root is `rootPath`. Print it with `formatEntryPath`. */
  path: EntryPath | undefined
  /** 0 for the root. */
  depth: number
}

/** How a tree is walked. */
export interface WalkOptions {
  signal?: AbortSignal | undefined
  /** What the paths of the entries begin with. */
  rootPath?: EntryPath | undefined
  /** True to stay out of a directory, whose entry is yielded all the same. Asked more than once, also ahead of the walk. */
  skip?: (entry: DirectoryEntry) => boolean
  /** Called when a directory is entered; the walk goes on with the entries it returns. */
  select?: (directory: WalkedEntry, entries: DirectoryEntry[]) => DirectoryEntry[]
  /** Called for a directory that cannot be read; the walk goes on beside it. Without it the walk throws. */
  onDirectoryError?: (directory: WalkedEntry, error: unknown) => void
  /** Directories read ahead of the walk, per level; 8 unless told. */
  readAhead?: number
}

interface Frame {
  directory: WalkedEntry
  entries: DirectoryEntry[]
  next: number
  ahead: Map<DirectoryEntry, Promise<Directory>>
}

// Deeper levels are not read ahead, so that what waits in memory is bounded whatever the depth.
const deepestReadAhead = 32

/**
 * Yields the root and everything below it, a directory before its children, in stored order. Holds the directories on
 * the way from the root to the current place, and a few read ahead. Depth costs no stack.
 */
export async function* walkSnapshot(
  contents: ContentStore,
  root: DirectoryEntry,
  options: WalkOptions = {},
): AsyncGenerator<WalkedEntry, void, undefined> {
  const frames: Frame[] = []
  const first: WalkedEntry = { entry: root, path: options.rootPath, depth: 0 }
  yield first
  await enter(first, undefined)

  while (frames.length > 0) {
    throwIfCancelled(options.signal)
    const frame = frames[frames.length - 1] as Frame
    const entry = frame.entries[frame.next++]
    if (entry === undefined) {
      frames.pop()
      continue
    }
    const walked = {
      entry,
      path: childPath(frame.directory.path, entry.name),
      depth: frame.directory.depth + 1,
    }
    readAhead(frame)
    yield walked
    await enter(walked, frame)
  }

  async function enter(directory: WalkedEntry, parent: Frame | undefined): Promise<void> {
    const waiting = parent?.ahead.get(directory.entry)
    parent?.ahead.delete(directory.entry)
    if (directory.entry.type !== 'd' || options.skip?.(directory.entry)) return
    try {
      const { entries } = await (waiting ?? readDirectory(contents, directory.entry, options.signal))
      const selected = options.select?.(directory, entries) ?? entries
      frames.push({ directory, entries: selected, next: 0, ahead: new Map() })
    } catch (error) {
      if (options.onDirectoryError === undefined || isRepoError(error, 'CANCELLED')) throw error
      options.onDirectoryError(directory, error)
    }
  }

  function readAhead(frame: Frame): void {
    if (frames.length > deepestReadAhead) return
    const limit = options.readAhead ?? 8
    for (let at = frame.next - 1; at < frame.entries.length && frame.ahead.size < limit; at++) {
      const entry = frame.entries[at] as DirectoryEntry
      // Directories come first, so that the first other entry ends the search.
      if (entry.type !== 'd') return
      if (frame.ahead.has(entry) || options.skip?.(entry)) continue
      const reading = readDirectory(contents, entry, options.signal)
      reading.catch(() => undefined)
      frame.ahead.set(entry, reading)
    }
  }
}
