/** Flags of the server that flags of `install` decide, or that belong to what it sets up. */
export const serverFlagNames: ReadonlySet<string> = new Set([
  'features',
  'default-volumes-to-fs-backup',
  'default-snapshot-move-data',
  'disable-informer-cache',
  'schedule-skip-immediately',
  'uploader-type',
  'restore-only',
  'default-repo-maintain-frequency',
  'garbage-collection-frequency',
  'fs-backup-timeout',
  'backup-repository-configmap',
  'repo-maintenance-job-configmap',
  'item-block-worker-count',
  'concurrent-backups',
  'leader-elect',
  // The port of the pod is fixed, and Velero's readers of metrics expect it.
  'metrics-address',
])

/** The same of the node agent. */
export const agentFlagNames: ReadonlySet<string> = new Set([
  'features',
  'node-agent-configmap',
  'backup-repository-configmap',
  'metrics-address',
])
