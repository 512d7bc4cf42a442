import type { ResultList, Results } from './report.ts'

/** What both say, once: those of the first before what only the other has. Whoever merges a second time changes nothing. */
export function mergeResultsOnce(first: Results, other: Results): Results {
  return {
    errors: mergeLists(first.errors, other.errors),
    warnings: mergeLists(first.warnings, other.warnings),
  }
}

function mergeLists(first: ResultList = {}, other: ResultList = {}): ResultList {
  const velero = union(first.velero, other.velero)
  const cluster = union(first.cluster, other.cluster)
  const names = union(Object.keys(first.namespaces ?? {}), Object.keys(other.namespaces ?? {}))
  const namespaces = names.map(name => [name, union(first.namespaces?.[name], other.namespaces?.[name])])
  return {
    ...(velero.length > 0 && { velero }),
    ...(cluster.length > 0 && { cluster }),
    ...(namespaces.length > 0 && { namespaces: Object.fromEntries(namespaces) }),
  }
}

function union(first: readonly string[] = [], other: readonly string[] = []): string[] {
  const known = new Set(first)
  return [...first, ...other.filter(text => !known.has(text))]
}

/** All texts of a list, wherever they belong. */
export function textsOf({ velero = [], cluster = [], namespaces = {} }: ResultList): string[] {
  return [...velero, ...cluster, ...Object.values(namespaces).flat()]
}
