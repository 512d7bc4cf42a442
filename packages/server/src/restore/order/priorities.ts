/** Names of types as users write them: those to restore first and those to restore last, each in order. */
export interface Priorities {
  readonly high: readonly string[]
  readonly low: readonly string[]
}

/** Priorities that cannot be read. */
export class InvalidPrioritiesError extends Error {
  override readonly name = 'InvalidPrioritiesError'
  readonly code = 'INVALID_PRIORITIES'
  readonly hint =
    'write resources separated by commas, with one - between those to restore first and those to restore last'
}

const separator = '-'

/**
 * Velero's order. It writes `volumesnapshotclass` in the singular, which only a cluster that has the type understands; the plural
 * is there for the others.
 */
export const defaultPriorities: Priorities = {
  high: [
    'customresourcedefinitions',
    'namespaces',
    'storageclasses',
    'volumesnapshotclass.snapshot.storage.k8s.io',
    'volumesnapshotclasses.snapshot.storage.k8s.io',
    'volumesnapshotcontents.snapshot.storage.k8s.io',
    'volumesnapshots.snapshot.storage.k8s.io',
    'datauploads.velero.io',
    'persistentvolumes',
    'persistentvolumeclaims',
    'clusterroles',
    'roles',
    'serviceaccounts',
    'clusterrolebindings',
    'rolebindings',
    'secrets',
    'configmaps',
    'limitranges',
    'priorityclasses',
    'pods',
    'replicasets.apps',
    'clusterclasses.cluster.x-k8s.io',
    'endpoints',
    'services',
  ],
  low: [
    'clusterbootstraps.run.tanzu.vmware.com',
    'clusters.cluster.x-k8s.io',
    'clusterresourcesets.addons.cluster.x-k8s.io',
    'apps.kappctrl.k14s.io',
    'packageinstalls.packaging.carvel.dev',
  ],
}

/**
 * Reads `a,b,-,y,z`: before the dash what is restored first, behind it what is restored last. A part that is not given, with or without
 * the dash, is the default one. Throws InvalidPrioritiesError.
 */
export function parsePriorities(text: string): Priorities {
  if (text === '') return defaultPriorities
  const names = text.split(',').map(name => name.trim())
  if (names.includes('')) throw new InvalidPrioritiesError(`an entry is empty in the priorities "${text}"`)
  const at = names.indexOf(separator)
  if (at !== names.lastIndexOf(separator)) {
    throw new InvalidPrioritiesError(
      `multiple priority separator "${separator}" found in the priorities "${text}"`,
    )
  }
  const high = at < 0 ? names : names.slice(0, at)
  const low = at < 0 ? [] : names.slice(at + 1)
  return {
    high: high.length > 0 ? high : defaultPriorities.high,
    low: low.length > 0 ? low : defaultPriorities.low,
  }
}

/** The inverse of `parsePriorities`. */
export function formatPriorities({ high, low }: Priorities): string {
  return [...high, ...(low.length > 0 ? [separator, ...low] : [])].join(',')
}
