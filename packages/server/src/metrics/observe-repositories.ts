import type { BackupRepository, MaintenanceRun } from '@lateen/api'
import type { ObjectHandler } from '@lateen/kube'
import type { Labels } from './family.ts'
import { secondsTaken } from './observe-backups.ts'
import type { VeleroMetrics } from './velero-metrics.ts'

/**
 * Counts the runs of maintenance that repositories tell of, from 0 on, so that the first one is seen as an increase. Repositories that
 * are gone have no series.
 */
export function observeRepositories({
  velero,
  isLeading,
}: {
  velero: VeleroMetrics
  isLeading: () => boolean
}): ObjectHandler<BackupRepository> {
  const families = [
    velero.repositoryMaintenanceSuccesses,
    velero.repositoryMaintenanceFailures,
    velero.repositoryMaintenanceDuration,
  ]
  return event => {
    const labels = { repository_name: event.object.metadata.name ?? '' }
    if (event.type === 'added') {
      velero.repositoryMaintenanceSuccesses.add(labels, 0)
      velero.repositoryMaintenanceFailures.add(labels, 0)
    }
    if (event.type === 'deleted') for (const family of families) family.remove(labels)
    if (event.type !== 'updated' || !isLeading()) return
    for (const run of newRuns(event.previous, event.object)) countRun(run, labels)
  }

  function countRun(run: MaintenanceRun, labels: Labels<'repository_name'>): void {
    const succeeded = run.result === 'Succeeded'
    const counter = succeeded ? velero.repositoryMaintenanceSuccesses : velero.repositoryMaintenanceFailures
    counter.add(labels)
    const { startTimestamp = null, completeTimestamp = null } = run
    const seconds = secondsTaken({ startTimestamp, completionTimestamp: completeTimestamp })
    if (seconds !== undefined) velero.repositoryMaintenanceDuration.observe(labels, seconds)
  }
}

/** The runs that ended in between: only the latest few are told of, and a run is known by when it began. */
function newRuns(before: BackupRepository, now: BackupRepository): MaintenanceRun[] {
  const known = new Set(before.status?.recentMaintenance?.map(({ startTimestamp }) => startTimestamp))
  return (now.status?.recentMaintenance ?? []).filter(({ startTimestamp }) => !known.has(startTimestamp))
}
