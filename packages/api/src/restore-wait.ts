/** Names of what keeps a restored pod from starting before its volumes have their files. In the spec of Pods. */
export const restoreWaitNames = {
  /** The init container, which Velero calls the same. */
  container: 'restore-wait',
  /** The init container of old releases of Velero. */
  oldContainer: 'restic-wait',
  /** Not Velero's: the volume by which the init container, when it runs again, knows that it has waited before. */
  stateVolume: 'restore-wait-state',
} as const

/** Whether a volume of a pod is the init container's own, and holds nothing of the application's. */
export function isRestoreWaitState({ name, emptyDir }: { name: string; emptyDir?: unknown }): boolean {
  return name === restoreWaitNames.stateVolume && (emptyDir ?? undefined) !== undefined
}
