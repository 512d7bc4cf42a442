import { storedName } from './name.ts'

/** Why a stored name cannot become a file below a target folder; undefined for a good one. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it would leave its folder'
  if (name.includes('/')) return 'it contains a slash'
  if (name.includes('\0')) return 'it contains a NUL'
  return undefined
}

/** What is kept of the entries of one directory: those that may be restored, and those that must not. */
export interface SiftedEntries<T> {
  good: T[]
  bad: { entry: T; reason: string }[]
}

/**
 * Separates entries that could leave their folder or hide each other from the rest. Of several entries with the same
 * name the first is kept, whatever their types: a symlink can so never stand in for a folder of the same name.
 */
export function siftEntries<T extends { name: string }>(entries: readonly T[]): SiftedEntries<T> {
  const sifted: SiftedEntries<T> = { good: [], bad: [] }
  const names = new Set<string>()
  for (const entry of entries) {
    const name = storedName(entry.name)
    const reason = nameProblem(name) ?? (names.has(name) ? 'another entry of this folder has it' : undefined)
    names.add(name)
    if (reason === undefined) sifted.good.push(entry)
    else sifted.bad.push({ entry, reason })
  }
  return sifted
}

/** A place in a tree as a chain of names, so that deep trees cost no long strings until one is printed. */
export interface EntryPath {
  readonly parent: EntryPath | undefined
  readonly name: string
}

/** The place below `parent` that has this name. */
export function childPath(parent: EntryPath | undefined, name: string): EntryPath {
  return { parent, name }
}

/** The path as text with slashes; the root is the empty text. */
export function formatEntryPath(path: EntryPath | undefined): string {
  const names: string[] = []
  for (let at = path; at !== undefined; at = at.parent) names.push(at.name)
  return names.reverse().join('/')
}
