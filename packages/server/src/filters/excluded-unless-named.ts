/** What CSI makes while snapshots are taken: copied into a backup with the claim they belong to, not collected. */
export const excludedUnlessNamed = {
  inNamespaces: 'volumesnapshots.snapshot.storage.k8s.io',
  inCluster: 'volumesnapshotcontents.snapshot.storage.k8s.io',
} as const

/** Whether the type is left out of backups that do not name it. */
export function isExcludedUnlessNamed(groupResource: string): boolean {
  return groupResource === excludedUnlessNamed.inNamespaces || groupResource === excludedUnlessNamed.inCluster
}
