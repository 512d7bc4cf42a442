import type { ContentStore } from '../content/content-store.ts'
import { throwIfCancelled } from '../errors/repo-error.ts'
import type { DirectoryEntry } from './directory.ts'
import { childPath, type EntryPath } from './entry-name.ts'
import { compareNames } from './name.ts'
import { readDirectory } from './read-directory.ts'
import { walkSnapshot } from './walk-snapshot.ts'

/** What of an entry can differ; `type` stands alone. */
export type EntryAspect = 'type' | 'content' | 'mode' | 'owner' | 'mtime'

/** One difference between two trees. */
export interface EntryChange {
  kind: 'added' | 'removed' | 'modified'
  /** Undefined for the roots. Print it with `formatEntryPath`. */
  path: EntryPath | undefined
  before?: DirectoryEntry
  after?: DirectoryEntry
  /** Only for `modified`. The content of directories is not compared: their entries are. */
  aspects: EntryAspect[]
}

/** In which an older and a newer entry of the same name differ. */
export function changedAspects(before: DirectoryEntry, after: DirectoryEntry): EntryAspect[] {
  if (before.type !== after.type) return ['type']
  const aspects: EntryAspect[] = []
  if (before.type !== 'd' && (before.obj !== after.obj || before.size !== after.size)) aspects.push('content')
  if (before.mode !== after.mode) aspects.push('mode')
  if (before.uid !== after.uid || before.gid !== after.gid) aspects.push('owner')
  if (before.mtime !== after.mtime) aspects.push('mtime')
  return aspects
}

interface Pair {
  before: DirectoryEntry | undefined
  after: DirectoryEntry | undefined
  path: EntryPath | undefined
}

/**
 * Yields what differs from the tree `before` to the tree `after`, a directory before its children. Directories with the
 * same object are not read. Holds the directories that are being compared; depth costs no stack. Throws when a directory
 * cannot be read.
 */
export async function* diffSnapshots(
  contents: ContentStore,
  trees: { before: DirectoryEntry; after: DirectoryEntry },
  signal?: AbortSignal,
): AsyncGenerator<EntryChange, void, undefined> {
  const pairs: Pair[] = [{ ...trees, path: undefined }]
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    throwIfCancelled(signal)
    const { before, after, path } = pair
    if (before !== undefined && after !== undefined && before.type === after.type) {
      const aspects = changedAspects(before, after)
      if (aspects.length > 0) yield { kind: 'modified', path, before, after, aspects }
      if (before.type === 'd' && before.obj !== after.obj) {
        pairs.push(...(await childPairs(contents, { before, after, path }, signal)))
      }
      continue
    }
    if (before !== undefined) yield* wholeTree(contents, { kind: 'removed', entry: before, path }, signal)
    if (after !== undefined) yield* wholeTree(contents, { kind: 'added', entry: after, path }, signal)
  }
}

async function childPairs(
  contents: ContentStore,
  parent: { before: DirectoryEntry; after: DirectoryEntry; path: EntryPath | undefined },
  signal: AbortSignal | undefined,
): Promise<Pair[]> {
  const [older, newer] = await Promise.all([
    readDirectory(contents, parent.before, signal),
    readDirectory(contents, parent.after, signal),
  ])
  const pairs = new Map<string, Pair>()
  for (const entry of older.entries) {
    pairs.set(entry.name, { before: entry, after: undefined, path: childPath(parent.path, entry.name) })
  }
  for (const entry of newer.entries) {
    const pair = pairs.get(entry.name)
    if (pair !== undefined) pair.after = entry
    else pairs.set(entry.name, { before: undefined, after: entry, path: childPath(parent.path, entry.name) })
  }
  // The caller takes from the end: last name first.
  return [...pairs.entries()].sort(([a], [b]) => compareNames(b, a)).map(([, pair]) => pair)
}

async function* wholeTree(
  contents: ContentStore,
  tree: { kind: 'added' | 'removed'; entry: DirectoryEntry; path: EntryPath | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<EntryChange, void, undefined> {
  const { kind, path: rootPath } = tree
  for await (const { entry, path } of walkSnapshot(contents, tree.entry, { signal, rootPath })) {
    const side = kind === 'added' ? { after: entry } : { before: entry }
    yield { kind, path, aspects: [], ...side }
  }
}
