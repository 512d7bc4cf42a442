import { counter, gauge, histogram } from './family.ts'
import type { Counter, Gauge, Histogram, MetricsRegistry } from './registry.ts'

const minute = 60
const hour = 60 * minute

/** The bounds of Velero's durations, in seconds. */
export const longDurations = [
  ...[minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute],
  ...[hour, 2 * hour, 3 * hour, 4 * hour],
]

/** The metrics of Velero 1.18's server: its names, labels, help and bounds. */
export type VeleroMetrics = ReturnType<typeof registerVeleroMetrics>

/** Throws when one of the names is taken. */
export function registerVeleroMetrics(registry: MetricsRegistry) {
  return {
    ...registerBackupMetrics(registry),
    ...registerRestoreMetrics(registry),
    ...registerSnapshotMetrics(registry),
    ...registerRepositoryMetrics(registry),
    locationStatus: registry.gauge(
      gauge(
        'velero_backup_location_status_gauge',
        'The status of backup location.  A value of 1 is available, 0 is unavailable',
        ['backup_location_name'],
      ),
    ),
  }
}

function registerBackupMetrics(registry: MetricsRegistry) {
  const count = countBySchedule(registry)
  const show = showBySchedule(registry)
  return {
    backupTotal: registry.gauge(gauge('velero_backup_total', 'Current number of existent backups')),
    backupAttempts: count('velero_backup_attempt_total', 'Total number of attempted backups'),
    backupSuccesses: count('velero_backup_success_total', 'Total number of successful backups'),
    backupPartialFailures: count(
      'velero_backup_partial_failure_total',
      'Total number of partially failed backups',
    ),
    backupFailures: count('velero_backup_failure_total', 'Total number of failed backups'),
    backupValidationFailures: count(
      'velero_backup_validation_failure_total',
      'Total number of validation failed backups',
    ),
    backupWarnings: count('velero_backup_warning_total', 'Total number of warned backups'),
    backupDeletionAttempts: count(
      'velero_backup_deletion_attempt_total',
      'Total number of attempted backup deletions',
    ),
    backupDeletionSuccesses: count(
      'velero_backup_deletion_success_total',
      'Total number of successful backup deletions',
    ),
    backupDeletionFailures: count(
      'velero_backup_deletion_failure_total',
      'Total number of failed backup deletions',
    ),
    backupTarballBytes: show('velero_backup_tarball_size_bytes', 'Size, in bytes, of a backup'),
    backupLastSuccess: show(
      'velero_backup_last_successful_timestamp',
      'Last time a backup ran successfully, Unix timestamp in seconds',
    ),
    backupItems: show('velero_backup_items_total', 'Total number of items backed up'),
    backupErrors: show('velero_backup_items_errors', 'Total number of errors encountered during backup'),
    backupLastStatus: show(
      'velero_backup_last_status',
      'Last status of the backup. A value of 1 is success, 0 is failure',
    ),
    backupDuration: registry.histogram(
      histogram({
        name: 'velero_backup_duration_seconds',
        help: 'Time taken to complete backup, in seconds',
        labels: ['schedule'],
        buckets: longDurations,
      }),
    ),
  }
}

function registerRestoreMetrics(registry: MetricsRegistry) {
  const count = countBySchedule(registry)
  return {
    restoreTotal: registry.gauge(gauge('velero_restore_total', 'Current number of existent restores')),
    restoreAttempts: count('velero_restore_attempt_total', 'Total number of attempted restores'),
    restoreSuccesses: count('velero_restore_success_total', 'Total number of successful restores'),
    restorePartialFailures: count(
      'velero_restore_partial_failure_total',
      'Total number of partially failed restores',
    ),
    restoreFailures: count('velero_restore_failed_total', 'Total number of failed restores'),
    restoreValidationFailures: count(
      'velero_restore_validation_failed_total',
      'Total number of failed restores failing validations',
    ),
  }
}

function registerSnapshotMetrics(registry: MetricsRegistry) {
  const count = countBySchedule(registry)
  const countCsi = (name: string, help: string) =>
    registry.counter(counter(name, help, ['schedule', 'backupName']))
  return {
    snapshotAttempts: count(
      'velero_volume_snapshot_attempt_total',
      'Total number of attempted volume snapshots',
    ),
    snapshotSuccesses: count(
      'velero_volume_snapshot_success_total',
      'Total number of successful volume snapshots',
    ),
    snapshotFailures: count(
      'velero_volume_snapshot_failure_total',
      'Total number of failed volume snapshots',
    ),
    csiSnapshotAttempts: countCsi(
      'velero_csi_snapshot_attempt_total',
      'Total number of CSI attempted volume snapshots',
    ),
    csiSnapshotSuccesses: countCsi(
      'velero_csi_snapshot_success_total',
      'Total number of CSI successful volume snapshots',
    ),
    csiSnapshotFailures: countCsi(
      'velero_csi_snapshot_failure_total',
      'Total number of CSI failed volume snapshots',
    ),
  }
}

function registerRepositoryMetrics(registry: MetricsRegistry) {
  const count = (name: string, help: string) => registry.counter(counter(name, help, ['repository_name']))
  return {
    repositoryMaintenanceSuccesses: count(
      'velero_repo_maintenance_success_total',
      'Total number of successful repo maintenance jobs',
    ),
    repositoryMaintenanceFailures: count(
      'velero_repo_maintenance_failure_total',
      'Total number of failed repo maintenance jobs',
    ),
    repositoryMaintenanceDuration: registry.histogram(
      histogram({
        name: 'velero_repo_maintenance_duration_seconds',
        help: 'Time taken to complete repo maintenance jobs, in seconds',
        labels: ['repository_name'],
        buckets: longDurations,
      }),
    ),
  }
}

function countBySchedule(registry: MetricsRegistry) {
  return (name: string, help: string): Counter<'schedule'> =>
    registry.counter(counter(name, help, ['schedule']))
}

function showBySchedule(registry: MetricsRegistry) {
  return (name: string, help: string): Gauge<'schedule'> => registry.gauge(gauge(name, help, ['schedule']))
}

/** Makes the series of a schedule visible that Velero shows before anything has happened; '' is for backups without one. */
export function beginSchedule(metrics: VeleroMetrics, schedule: string): void {
  for (const counter of countersOfSchedule(metrics)) counter.add({ schedule }, 0)
  for (const counter of csiCounters(metrics)) counter.add({ schedule, backupName: '' }, 0)
  metrics.backupItems.begin({ schedule }, 0)
  metrics.backupErrors.begin({ schedule }, 0)
  metrics.backupLastStatus.begin({ schedule }, 1)
}

/** Forgets all series of schedules that are not wanted. */
export function keepSchedules(metrics: VeleroMetrics, wanted: (schedule: string) => boolean): void {
  for (const family of [...countersOfSchedule(metrics), ...gaugesOfSchedule(metrics)]) {
    family.keep(({ schedule }) => wanted(schedule))
  }
  for (const family of csiCounters(metrics)) family.keep(({ schedule }) => wanted(schedule))
}

function countersOfSchedule(metrics: VeleroMetrics): Counter<'schedule'>[] {
  return [
    ...[metrics.backupAttempts, metrics.backupSuccesses, metrics.backupPartialFailures],
    ...[metrics.backupFailures, metrics.backupValidationFailures, metrics.backupWarnings],
    ...[metrics.backupDeletionAttempts, metrics.backupDeletionSuccesses, metrics.backupDeletionFailures],
    ...[metrics.restoreAttempts, metrics.restoreSuccesses, metrics.restorePartialFailures],
    ...[metrics.restoreFailures, metrics.restoreValidationFailures],
    ...[metrics.snapshotAttempts, metrics.snapshotSuccesses, metrics.snapshotFailures],
  ]
}

function gaugesOfSchedule(metrics: VeleroMetrics): (Gauge<'schedule'> | Histogram<'schedule'>)[] {
  return [
    ...[metrics.backupTarballBytes, metrics.backupLastSuccess, metrics.backupItems],
    ...[metrics.backupErrors, metrics.backupLastStatus, metrics.backupDuration],
  ]
}

/** The only series that carry the name of a backup. */
export function csiCounters(metrics: VeleroMetrics): Counter<'schedule' | 'backupName'>[] {
  return [metrics.csiSnapshotAttempts, metrics.csiSnapshotSuccesses, metrics.csiSnapshotFailures]
}
