import { type Backup, labelNames } from '@lateen/api'
import type { ObjectHandler } from '@lateen/kube'
import { type BackupResult, countsOfBackup, resultOf } from './backup-counts.ts'
import type { LateenMetrics } from './lateen-metrics.ts'
import type { Counter } from './registry.ts'
import { csiCounters, type VeleroMetrics } from './velero-metrics.ts'

export interface ObserveOptions {
  velero: VeleroMetrics
  own: LateenMetrics
  /** Who does not work does not count, or two replicas would count everything twice. */
  isLeading: () => boolean
}

/** The schedule that a backup was made for, or ''. */
export function scheduleOf({ metadata }: Backup): string {
  return metadata.labels?.[labelNames.scheduleName] ?? ''
}

/** Counts what happens to backups. */
export function observeBackups({ velero, own, isLeading }: ObserveOptions): ObjectHandler<Backup> {
  function deleted(backup: Backup): void {
    forget(velero, backup.metadata.name ?? '')
    if (!isLeading() || backup.status?.phase !== 'Deleting') return
    velero.backupDeletionSuccesses.add({ schedule: scheduleOf(backup) })
  }

  function updated(before: Backup, now: Backup): void {
    const counts = countsOfBackup(before, now)
    if (counts.result !== undefined) showEnded(velero, now)
    if (!isLeading()) return
    own.backupItems.add({}, counts.items)
    if (counts.attempt) velero.backupAttempts.add({ schedule: scheduleOf(now) })
    if (counts.written) countWritten(velero, now)
    if (counts.result !== undefined) countEnded(velero, now, counts.result)
  }

  return event => {
    if (event.type === 'added') showSuccess(velero, event.object)
    if (event.type === 'deleted') deleted(event.object)
    if (event.type === 'updated') updated(event.previous, event.object)
  }
}

/** Brings the gauges of its schedule to what a backup says that has ended. */
export function showEnded(velero: VeleroMetrics, backup: Backup): void {
  const schedule = scheduleOf(backup)
  const result = resultOf(backup)
  velero.backupLastStatus.set({ schedule }, result === 'success' ? 1 : 0)
  if (result !== 'validation failure') showContents(velero, backup)
}

/** The part of the gauges that a backup says something about which has begun. */
export function showContents(velero: VeleroMetrics, backup: Backup): void {
  const schedule = scheduleOf(backup)
  const { progress, errors = 0 } = backup.status ?? {}
  if (progress?.totalItems !== undefined) velero.backupItems.set({ schedule }, progress.totalItems)
  velero.backupErrors.set({ schedule }, errors)
  showSuccess(velero, backup)
}

/** Backups that come from elsewhere have succeeded, too. */
function showSuccess(velero: VeleroMetrics, backup: Backup): void {
  if (resultOf(backup) !== 'success') return
  const completedAt = Date.parse(backup.status?.completionTimestamp ?? '') / 1_000
  if (completedAt > 0) velero.backupLastSuccess.raise({ schedule: scheduleOf(backup) }, completedAt)
}

function countWritten(velero: VeleroMetrics, backup: Backup): void {
  const schedule = scheduleOf(backup)
  const { status = {} } = backup
  const {
    volumeSnapshotsAttempted = 0,
    volumeSnapshotsCompleted = 0,
    csiVolumeSnapshotsAttempted = 0,
  } = status
  velero.snapshotAttempts.add({ schedule }, volumeSnapshotsAttempted)
  velero.snapshotSuccesses.add({ schedule }, volumeSnapshotsCompleted)
  velero.snapshotFailures.add({ schedule }, Math.max(0, volumeSnapshotsAttempted - volumeSnapshotsCompleted))
  if (csiVolumeSnapshotsAttempted > 0) {
    const labels = { schedule, backupName: backup.metadata.name ?? '' }
    velero.csiSnapshotAttempts.add(labels, csiVolumeSnapshotsAttempted)
  }
  if ((status.warnings ?? 0) > 0) velero.backupWarnings.add({ schedule })
}

function countEnded(velero: VeleroMetrics, backup: Backup, result: BackupResult): void {
  const schedule = scheduleOf(backup)
  counterOf(velero, result).add({ schedule })
  const { csiVolumeSnapshotsAttempted = 0, csiVolumeSnapshotsCompleted = 0 } = backup.status ?? {}
  if (csiVolumeSnapshotsAttempted > 0) {
    const labels = { schedule, backupName: backup.metadata.name ?? '' }
    velero.csiSnapshotSuccesses.add(labels, csiVolumeSnapshotsCompleted)
    velero.csiSnapshotFailures.add(
      labels,
      Math.max(0, csiVolumeSnapshotsAttempted - csiVolumeSnapshotsCompleted),
    )
  }
  const seconds = secondsTaken(backup.status)
  if (seconds !== undefined) velero.backupDuration.observe({ schedule }, seconds)
}

function counterOf(velero: VeleroMetrics, result: BackupResult): Counter<'schedule'> {
  switch (result) {
    case 'success':
      return velero.backupSuccesses
    case 'partial failure':
      return velero.backupPartialFailures
    case 'failure':
      return velero.backupFailures
    case 'validation failure':
      return velero.backupValidationFailures
  }
}

/** From the beginning of the work to its end, if it has both. */
export function secondsTaken(
  status: { startTimestamp?: string | null; completionTimestamp?: string | null } | undefined,
): number | undefined {
  const taken =
    (Date.parse(status?.completionTimestamp ?? '') - Date.parse(status?.startTimestamp ?? '')) / 1_000
  return taken >= 0 ? taken : undefined
}

function forget(velero: VeleroMetrics, name: string): void {
  for (const counter of csiCounters(velero)) counter.keep(({ backupName }) => backupName !== name)
}
