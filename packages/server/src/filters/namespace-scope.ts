import { compileGlob } from './glob.ts'
import { createNameFilter, type NameLists } from './name-filter.ts'
import type { NamespaceScope } from './scope.ts'

/** What `resolveNamespaces` goes by. */
export interface NamespaceLists extends NameLists {
  /** The namespaces that exist. */
  existing: readonly string[]
}

/**
 * The namespaces that a backup takes. Patterns stand for the namespaces that match them now, unless everything is
 * included; those made later do not join. An empty include list, or `*`, is everything.
 * Naming every namespace that exists is everything, too.
 * Throws InvalidPatternError for a pattern that cannot be read.
 */
export function resolveNamespaces({ includes, excludes, existing }: NamespaceLists): NamespaceScope {
  const asked = createNameFilter({ includes, excludes })
  const wide = asked.included.length === 0 || asked.included.includes('*')
  const expands = !wide && [...asked.included, ...asked.excluded].some(isPattern)
  const lists = expands
    ? { includes: expanded(asked.included, existing), excludes: expanded(asked.excluded, existing) }
    : { includes, excludes }
  const filter = createNameFilter(lists)
  const nothing = expands && filter.included.length === 0
  const there = new Set(existing)
  const includesName = (namespace: string) => !nothing && filter.includes(namespace)
  return {
    all:
      !nothing && (filter.everything || (filter.excluded.length === 0 && sameNames(filter.included, there))),
    wide,
    names: [...there].sort().filter(includesName),
    missing: wide ? [] : asked.included.filter(name => !isPattern(name) && !there.has(name)),
    includes: includesName,
  }
}

/** Whether a name of a namespace stands for several. */
export function isPattern(name: string): boolean {
  return /[*?[]/.test(name)
}

function expanded(names: readonly string[], existing: readonly string[]): string[] {
  return names.flatMap(name => (isPattern(name) ? existing.filter(compileGlob(name)) : [name]))
}

function sameNames(names: readonly string[], existing: ReadonlySet<string>): boolean {
  return names.length === existing.size && names.every(name => existing.has(name))
}
