/**
 * Types that no restore brings back: the cluster makes them itself, or they are the business of the server that restores. A restore that
 * names one is not valid.
 */
export const nonRestorableResources: readonly string[] = [
  'nodes',
  'events',
  'events.events.k8s.io',
  'backups.velero.io',
  'restores.velero.io',
  'resticrepositories.velero.io',
  'csinodes.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'backuprepositories.velero.io',
]
