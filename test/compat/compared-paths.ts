import type { BackupSpec } from '@lateen/api'

/** Both servers work in these, so what lies there changes from one backup to the next. */
export const serverNamespaces = ['lateen-server', 'velero-server']

/** Whether two backups, one after the other, may be expected to agree about an entry of their archives. */
export function isComparable(path: string): boolean {
  const isServers = serverNamespaces.some(
    name => path.includes(`/namespaces/${name}/`) || path.endsWith(`/cluster/${name}.json`),
  )
  // Definitions of Velero's kinds are taken when an object of theirs is.
  return !isServers && !path.endsWith('.velero.io.json')
}

/** Sorted paths of the entries that two backups may be expected to agree about. */
export function comparablePaths(paths: readonly string[]): string[] {
  return paths.filter(isComparable).toSorted((a, b) => (a < b ? -1 : 1))
}

type Names = readonly string[] | null | undefined
const isEmpty = (list: Names) => (list ?? []).length === 0
const isAll = (list: Names) => isEmpty(list) || (list?.length === 1 && list[0] === '*')

/**
 * The spec that makes Velero take what it would if it did not mistake its own exclusion of snapshots for a restriction: then it
 * leaves out cluster-scoped objects of a backup that was not restricted at all.
 */
export function meantForVelero(spec: BackupSpec, policies: PoliciesOfBackup = {}): BackupSpec {
  const unrestricted =
    !restricts(policies, spec) &&
    (spec.includeClusterResources ?? undefined) === undefined &&
    isAll(spec.includedNamespaces) &&
    isAll(spec.includedNamespaceScopedResources) &&
    isEmpty(spec.excludedNamespaces) &&
    isEmpty(spec.includedResources) &&
    isEmpty(spec.excludedResources) &&
    isEmpty(spec.excludedNamespaceScopedResources) &&
    isEmpty(spec.includedClusterScopedResources) &&
    isEmpty(spec.excludedClusterScopedResources)
  return unrestricted ? { ...spec, includedClusterScopedResources: ['*'] } : spec
}

/** The part of resource policies that says which types a backup takes. */
export interface PoliciesOfBackup {
  version?: string
  includeExcludePolicy?: Partial<
    Record<`${'included' | 'excluded'}${'Namespace' | 'Cluster'}ScopedResources`, Names>
  >
}

/** Whether policies restrict a backup whose spec does not. What the spec names is not theirs to say. */
function restricts({ includeExcludePolicy: policy }: PoliciesOfBackup, spec: BackupSpec): boolean {
  const inCluster = [policy?.includedClusterScopedResources, policy?.excludedClusterScopedResources]
  const inNamespaces = [policy?.includedNamespaceScopedResources, policy?.excludedNamespaceScopedResources]
  const open = isEmpty(spec.includedNamespaceScopedResources) ? [...inCluster, ...inNamespaces] : inCluster
  return open.some(list => !isEmpty(list))
}

const definition =
  /^resources\/customresourcedefinitions\.apiextensions\.k8s\.io\/(?:v1-preferredversion\/)?cluster\/(.+)\.json$/

/** What only one of two backups with the same spec has, as far as there is no reason for it. */
export function unexplained(ours: readonly string[], theirs: readonly string[], spec: BackupSpec) {
  const [our, their] = [ours, theirs].map(paths => comparablePaths(paths))
  return {
    onlyOurs: our!.filter(path => !their!.includes(path) && !isAddedDefinition(path, ours, spec)),
    onlyTheirs: their!.filter(path => !our!.includes(path)),
  }
}

/**
 * Where definitions are collected by labels, Velero leaves out those without the label, and the custom resources that it took cannot
 * be restored.
 */
function isAddedDefinition(path: string, paths: readonly string[], spec: BackupSpec): boolean {
  const name = definition.exec(path)?.[1]
  const hasSelector = (spec.labelSelector ?? spec.orLabelSelectors ?? undefined) !== undefined
  return hasSelector && name !== undefined && paths.some(other => other.startsWith(`resources/${name}/`))
}
