/**
 * Names of maintenance tasks as the run history in `kopia.maintenance` holds them. Kopia reads its own safety rules
 * from that history, so a task must be recorded under exactly the name Kopia gives it.
 */
export const maintenanceTasks = [
  'snapshot-gc',
  'full-rewrite-contents',
  'full-drop-deleted-content',
  'full-delete-blobs',
  'extend-blob-retention-time',
  'compact-single-epoch',
  'advance-epoch',
  'generate-epoch-range-index',
  'cleanup-epoch-markers',
  'delete-superseded-epoch-indexes',
  'cleanup-logs',
] as const

/** One task of a maintenance run. */
export type MaintenanceTask = (typeof maintenanceTasks)[number]

/** Quick touches indexes only; full also collects garbage. */
export type MaintenanceMode = 'quick' | 'full'

/**
 * Tasks after which something is gone, or invisible to everybody, that another maintainer may still count on. Before
 * each of them the lease is read again.
 */
export const destructiveTasks: ReadonlySet<MaintenanceTask> = new Set([
  'snapshot-gc',
  'full-rewrite-contents',
  'full-drop-deleted-content',
  'full-delete-blobs',
  'cleanup-epoch-markers',
  'delete-superseded-epoch-indexes',
  'cleanup-logs',
])
