import type { PolicyTree } from '../policy-tree.ts'
import {
  type EnteredDirectory,
  enterDirectory,
  type IgnoreContext,
  isCacheDirectory,
  isIgnored,
  nothingIgnored,
} from './ignore-context.ts'
import { listNames, reading, type SourceEntry, statEntry } from './source-entry.ts'
import type { OpenFolders, SourceFolder } from './source-folder.ts'

/** A folder to visit. */
export interface DirectoryVisit {
  entry: SourceEntry
  /** From the root of the snapshot: '' for the root itself, '/a/b' below it. */
  relativePath: string
  policies: PolicyTree
  /** The context of the folder above; undefined takes in everything. */
  ignoring: IgnoreContext | undefined
}

/** A folder whose names are known; `source` is held for whoever visits it. */
export interface VisitedDirectory extends EnteredDirectory {
  ignoring: IgnoreContext | undefined
  /** It is a cache by its own marker, so that its entries do not count. */
  isCache: boolean
}

/**
 * Opens a folder, and reads the names in it and the rules that apply to them. Throws SourceReadError, also for a rule
 * that cannot be used.
 */
export function visitDirectory(visit: DirectoryVisit, folders: OpenFolders): VisitedDirectory {
  const { entry } = visit
  const open = () => entry.folder?.openChild(entry.name) ?? folders.openRoot(entry.path)
  const source = reading(entry.path, open)
  try {
    return visitOpened(visit, source)
  } catch (error) {
    source.release()
    throw error
  }
}

function visitOpened(
  { entry, relativePath, policies, ignoring }: DirectoryVisit,
  source: SourceFolder,
): VisitedDirectory {
  const folder = { entry, source, relativePath, policies, names: listNames(source) }
  if (!ignoring) return { ...folder, ignoring, isCache: false }
  if (isCacheDirectory(folder)) return { ...folder, names: [], ignoring, isCache: true }
  const inside = reading(entry.path, () => enterDirectory(ignoring, folder))
  return { ...folder, ignoring: inside, isCache: false }
}

/** The entries of a folder one by one, looked at as late as possible; those left out go to `onExcluded`. Throws SourceReadError. */
export function* includedEntries(
  folder: VisitedDirectory,
  onExcluded?: (entry: SourceEntry) => void,
): Generator<SourceEntry> {
  for (const name of folder.names) {
    const entry = statEntry(folder.source, name)
    if (!entry) continue
    if (folder.ignoring && isIgnored(folder.ignoring, entry, folder)) onExcluded?.(entry)
    else yield entry
  }
}

/** The context above a root. */
export function rootIgnoring(ignoreRules: boolean): IgnoreContext | undefined {
  return ignoreRules ? nothingIgnored : undefined
}
