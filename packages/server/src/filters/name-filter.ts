import { compileGlob, type Glob } from './glob.ts'

/** Names to take and to leave, as a user lists them. */
export interface NameLists {
  includes?: readonly string[] | null | undefined
  excludes?: readonly string[] | null | undefined
}

/** Takes what one list includes and the other does not exclude. */
export interface NameFilter {
  /** Without repetitions, sorted. */
  readonly included: readonly string[]
  readonly excluded: readonly string[]
  /** Nothing can be left out: no list, or `*` alone, and no exclusions. */
  readonly everything: boolean
  includes(name: string): boolean
  /** Whether an entry of the include list matches; an empty list matches nothing. */
  isIncludedByEntry(name: string): boolean
  isExcluded(name: string): boolean
}

/**
 * A filter over lists of names and patterns. An empty include list takes everything. A pattern that cannot be read
 * matches nothing; lists are validated before they are used.
 */
export function createNameFilter({ includes, excludes }: NameLists): NameFilter {
  const included = distinct(includes ?? [])
  const excluded = distinct(excludes ?? [])
  const isIncludedByEntry = anyOf(included)
  const isExcluded = anyOf(excluded)
  return {
    included,
    excluded,
    everything:
      excluded.length === 0 && (included.length === 0 || (included.length === 1 && included[0] === '*')),
    includes: name => !isExcluded(name) && (included.length === 0 || isIncludedByEntry(name)),
    isIncludedByEntry,
    isExcluded,
  }
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

function anyOf(patterns: readonly string[]): Glob {
  const globs = patterns.map(globOrNothing)
  const known = new Map<string, boolean>()
  return name => {
    const answer = known.get(name)
    if (answer !== undefined) return answer
    const fresh = globs.some(matches => matches(name))
    if (known.size < maxKnown) known.set(name, fresh)
    return fresh
  }
}

// Types and namespaces are asked for again and again, names of objects once.
const maxKnown = 10_000

function globOrNothing(pattern: string): Glob {
  try {
    return compileGlob(pattern)
  } catch {
    return () => false
  }
}
