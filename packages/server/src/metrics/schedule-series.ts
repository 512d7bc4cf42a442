import { type Backup, type Schedule, validLabelValue } from '@lateen/api'
import { versionOf } from '@lateen/kube'
import { resultOf } from './backup-counts.ts'
import type { LateenMetrics } from './lateen-metrics.ts'
import { scheduleOf, showContents, showEnded } from './observe-backups.ts'
import { beginSchedule, keepSchedules, type VeleroMetrics } from './velero-metrics.ts'

export interface ScheduleSeriesOptions {
  velero: VeleroMetrics
  own: Pick<LateenMetrics, 'restoreDuration'>
  schedules: { readonly hasSynced: boolean; list(): Schedule[] }
  backups: { readonly hasSynced: boolean; list(): Backup[] }
  /** Whether a backup comes from elsewhere: it says when there was a backup, but nothing about how backups go here. */
  isForeign: (backup: Backup) => boolean
}

/**
 * Keeps the series of schedules: those that are there have them from the beginning, those that are gone have none. Gauges of a schedule
 * that is new here are brought to what its backups say, so that a restart loses nothing; from then on, they follow what happens.
 * Returns what is to be done before every look at them.
 */
export function followSchedules(options: ScheduleSeriesOptions): () => void {
  const { velero, own, schedules, backups, isForeign } = options
  let known = new Set<string>()

  function show(schedule: string, { lastEnded, lastRun, lastSuccess }: Newest): void {
    if (lastSuccess !== undefined) velero.backupLastSuccess.raise({ schedule }, lastSuccess)
    if (lastRun !== undefined) showContents(velero, lastRun)
    if (lastEnded !== undefined) showEnded(velero, lastEnded)
  }

  return () => {
    if (!schedules.hasSynced || !backups.hasSynced) return
    const names = new Set([
      '',
      ...schedules.list().map(({ metadata }) => validLabelValue(metadata.name ?? '')),
    ])
    keepSchedules(velero, schedule => names.has(schedule))
    own.restoreDuration.keep(({ schedule }) => names.has(schedule))
    const added = names.difference(known)
    const newest = added.size === 0 ? undefined : newestBySchedule(backups.list(), isForeign)
    for (const schedule of added) {
      beginSchedule(velero, schedule)
      show(schedule, newest?.get(schedule) ?? {})
    }
    known = names
  }
}

/** What the backups of one schedule say. */
export interface Newest {
  lastEnded?: Backup
  /** The last one that ended and was valid. */
  lastRun?: Backup
  /** Seconds since 1970. */
  lastSuccess?: number
}

/** Of every schedule the backups that ended last, and when one succeeded last. */
export function newestBySchedule(
  backups: readonly Backup[],
  isForeign: (backup: Backup) => boolean,
): Map<string, Newest> {
  const found = new Map<string, Newest>()
  for (const backup of backups) {
    const result = resultOf(backup)
    if (result === undefined) continue
    const newest = found.get(scheduleOf(backup)) ?? {}
    found.set(scheduleOf(backup), newest)
    if (result === 'success') noteSuccess(newest, backup)
    if (isForeign(backup)) continue
    if (isLater(backup, newest.lastEnded)) newest.lastEnded = backup
    if (result !== 'validation failure' && isLater(backup, newest.lastRun)) newest.lastRun = backup
  }
  return found
}

function noteSuccess(newest: Newest, { status }: Backup): void {
  const completedAt = timeOf(status?.completionTimestamp ?? '') / 1_000
  if (completedAt > 0) newest.lastSuccess = Math.max(newest.lastSuccess ?? 0, completedAt)
}

/** Times are whole seconds: of two that ended in the same one, that counts which was written last. */
function isLater(backup: Backup, known: Backup | undefined): boolean {
  if (known === undefined) return true
  const bySeconds = endOf(backup) - endOf(known)
  return bySeconds === 0 ? versionOf(backup) >= versionOf(known) : bySeconds > 0
}

/** One that failed validation did not begin: it ended when it was made. */
function endOf({ status, metadata }: Backup): number {
  return timeOf(status?.completionTimestamp ?? status?.startTimestamp ?? metadata.creationTimestamp ?? '')
}

function timeOf(text: string): number {
  return Date.parse(text) || 0
}
