import type { PolicyTree } from '../policy-tree.ts'
import { childFilePath } from './file-path.ts'
import {
  type EnteredDirectory,
  enterDirectory,
  type IgnoreContext,
  isCacheDirectory,
  isIgnored,
  nothingIgnored,
} from './ignore-context.ts'
import { listNames, reading, type SourceEntry, statEntry } from './source-entry.ts'

/** A folder to visit. */
export interface DirectoryVisit {
  entry: SourceEntry
  /** From the root of the snapshot: '' for the root itself, '/a/b' below it. */
  relativePath: string
  policies: PolicyTree
  /** The context of the folder above; undefined takes in everything. */
  ignoring: IgnoreContext | undefined
}

/** A folder whose names are known. */
export interface VisitedDirectory extends EnteredDirectory {
  ignoring: IgnoreContext | undefined
  /** It is a cache by its own marker, so that its entries do not count. */
  isCache: boolean
}

/** Reads the names in a folder and the rules that apply to them. Throws SourceReadError, also for a
 * rule that cannot be used. */
export function visitDirectory({
  entry,
  relativePath,
  policies,
  ignoring,
}: DirectoryVisit): VisitedDirectory {
  const folder = { entry, relativePath, policies, names: listNames(entry.path) }
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
    const entry = statEntry(childFilePath(folder.entry.path, name), name)
    if (!entry) continue
    if (folder.ignoring && isIgnored(folder.ignoring, entry, folder)) onExcluded?.(entry)
    else yield entry
  }
}

/** The context above a root. */
export function rootIgnoring(ignoreRules: boolean): IgnoreContext | undefined {
  return ignoreRules ? nothingIgnored : undefined
}
