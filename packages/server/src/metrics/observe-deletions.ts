import type { Backup, DeleteBackupRequest } from '@lateen/api'
import { joinKey, type ObjectHandler } from '@lateen/kube'
import { scheduleOf } from './observe-backups.ts'
import type { VeleroMetrics } from './velero-metrics.ts'

export interface ObserveDeletionsOptions {
  velero: VeleroMetrics
  isLeading: () => boolean
  /** The backup of a request, as long as there is one. */
  backups: { get(key: string): Backup | undefined }
}

/** Counts deletions that begin, and those that fail, once each, though they are tried again. Those that succeed end with their backup. */
export function observeDeletions({
  velero,
  isLeading,
  backups,
}: ObserveDeletionsOptions): ObjectHandler<DeleteBackupRequest> {
  return event => {
    if (event.type !== 'updated' || !isLeading()) return
    const { metadata, spec, status } = event.object
    const before = event.previous.status?.phase ?? 'New'
    const backup = backups.get(joinKey({ namespace: metadata.namespace ?? '', name: spec.backupName }))
    const schedule = backup === undefined ? '' : scheduleOf(backup)
    if (before === 'New' && status?.phase === 'InProgress') velero.backupDeletionAttempts.add({ schedule })
    const hasFailed = ({ status }: DeleteBackupRequest) => (status?.errors ?? []).length > 0
    const failsNow = hasFailed(event.object) && !hasFailed(event.previous)
    if (before === 'InProgress' && failsNow) velero.backupDeletionFailures.add({ schedule })
  }
}
