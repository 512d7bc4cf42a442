import type { ResultList, Results } from '../../report/report.ts'

/** The messages of both, those of the first before those of the other. */
export function mergeResults(first: Results, other: Results): Results {
  return {
    errors: mergeLists(first.errors, other.errors),
    warnings: mergeLists(first.warnings, other.warnings),
  }
}

function mergeLists(first: ResultList, other: ResultList): ResultList {
  const velero = [...(first.velero ?? []), ...(other.velero ?? [])]
  const cluster = [...(first.cluster ?? []), ...(other.cluster ?? [])]
  const namespaces = new Map(Object.entries(first.namespaces ?? {}))
  for (const [namespace, texts] of Object.entries(other.namespaces ?? {})) {
    namespaces.set(namespace, [...(namespaces.get(namespace) ?? []), ...texts])
  }
  return {
    ...(velero.length > 0 && { velero }),
    ...(cluster.length > 0 && { cluster }),
    ...(namespaces.size > 0 && { namespaces: Object.fromEntries(namespaces) }),
  }
}
