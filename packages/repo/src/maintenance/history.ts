import { type GoTime, goTimeFromMillis } from '../go-json/go-time.ts'
import type { SafetyParameters } from './safety.ts'
import type { MaintenanceSchedule, RunRecord } from './schedule.ts'

/** Whether a task may run now, and why; the reason is printed in plans. */
export interface Verdict {
  allowed: boolean
  reason: string
}

/** End of the newest successful run of any of the tasks; undefined when there was none. */
export function lastSuccess(schedule: MaintenanceSchedule, ...tasks: readonly string[]): GoTime | undefined {
  let latest: GoTime | undefined
  for (const task of tasks) {
    for (const run of schedule.runs[task] ?? []) {
      if (run.success && (latest === undefined || run.end > latest)) latest = run.end
    }
  }
  return latest
}

/** A rewrite waits until packs were deleted after the last one, or deletion would be put off for ever. */
export function mayRewriteContents(schedule: MaintenanceSchedule, safety: SafetyParameters): Verdict {
  const rewritten = lastSuccess(schedule, 'full-rewrite-contents')
  if (rewritten === undefined) return { allowed: true, reason: 'short packs were never rewritten' }
  if (safety.rewriteToDeleteDelay === 0) return { allowed: true, reason: 'no waiting time is asked for' }
  const deleted = lastSuccess(schedule, 'full-delete-blobs', 'quick-delete-blobs')
  return deleted !== undefined && deleted >= rewritten
    ? { allowed: true, reason: 'packs were deleted since the last rewrite' }
    : { allowed: false, reason: 'packs were not deleted since the last rewrite' }
}

/** Packs go only some time after the last rewrite, when every client has refreshed its indexes. */
export function mayDeletePacks(
  schedule: MaintenanceSchedule,
  safety: SafetyParameters,
  now: GoTime,
): Verdict {
  const rewritten = lastSuccess(schedule, 'full-rewrite-contents', 'quick-rewrite-contents')
  if (rewritten === undefined) return { allowed: true, reason: 'no rewrite moved contents before' }
  return now >= rewritten + goTimeFromMillis(safety.rewriteToDeleteDelay)
    ? { allowed: true, reason: 'clients had the time to refresh since the last rewrite' }
    : { allowed: false, reason: 'the last rewrite is too recent' }
}

/**
 * Contents deleted at or before this time may be dropped for good; undefined when none may. It is the start, less the
 * extra margin, of the newest successful collection that ended longer than the margin before the newest one started:
 * what that earlier collection deleted by mistake while it raced an upload, the newest one has undeleted.
 */
export function safeDropTime(
  runs: readonly RunRecord[],
  safety: SafetyParameters,
  now: GoTime,
): GoTime | undefined {
  if (!safety.requireTwoGcCycles) return now
  const [newest, ...earlier] = runs
    .filter(run => run.success)
    .sort((a, b) => (a.start === b.start ? 0 : a.start > b.start ? -1 : 1))
  if (newest === undefined) return undefined
  const settled = earlier.find(run => newest.start - run.end > goTimeFromMillis(safety.marginBetweenGc))
  return settled === undefined ? undefined : settled.start - goTimeFromMillis(safety.dropExtraMargin)
}
