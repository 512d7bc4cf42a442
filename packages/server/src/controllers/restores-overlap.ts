import type { Restore } from '@lateen/api'

/**
 * Whether two restores may touch the same objects: a namespace in common, as mapped, or one that takes all namespaces or
 * cluster-scoped objects, which may be anyone's.
 */
export function restoresOverlap(one: Restore, other: Restore): boolean {
  const [mine, theirs] = [targetsOf(one), targetsOf(other)]
  if (mine === 'anything' || theirs === 'anything') return true
  return mine.some(namespace => theirs.includes(namespace))
}

function targetsOf({ spec }: Restore): readonly string[] | 'anything' {
  const named = spec.includedNamespaces ?? []
  const open = named.length === 0 || named.some(name => /[*?[\]]/.test(name))
  if (open || spec.includeClusterResources === true) return 'anything'
  return named.map(name => spec.namespaceMapping?.[name] ?? name)
}
