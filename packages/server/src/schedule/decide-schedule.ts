import {
  type Backup,
  BackupKind,
  type BackupPhase,
  formatTime,
  isTerminal,
  parseTime,
  type Schedule,
} from '@lateen/api'
import { dueAnnotation, dueBackup, timestampLength } from './due-backup.ts'
import { nextTime } from './next-time.ts'
import { CronError, type CronSchedule, parseCron } from './parse-cron.ts'
import type { TimeZone } from './zoned-time.ts'

/** What decides about a schedule. */
export interface ScheduleFacts {
  schedule: Schedule
  /** Those that carry its label. */
  backups: readonly Backup[]
  /** One that was made, although the schedule does not know, and perhaps not even the list of backups. */
  unnoted?: Backup | undefined
  /** Milliseconds since 1970. */
  now: number
  /** Whether schedules that do not say leave out a backup that is due at once. */
  skipByDefault: boolean
  /** Of expressions that name no zone. */
  zone: TimeZone
}

export type ScheduleStep =
  /** Nothing but a change of the schedule matters. */
  | { type: 'ignore' }
  | { type: 'refuse'; validationErrors: readonly string[] }
  | { type: 'enable' }
  /** What was due until now is left out. */
  | { type: 'skip' }
  | { type: 'wait'; until: number }
  /** It is due, but an earlier backup of it has not ended. */
  | { type: 'hold'; behind: string }
  /** The clock was put back: what the schedule remembers, or when it was made, is still to come, and would keep it waiting. */
  | { type: 'correct'; status: { lastBackup?: string; lastSkipped?: string } }
  /** The backup for the time that is due is there; only the schedule does not know. */
  | { type: 'note'; made: number }
  | { type: 'make'; backup: Backup }

/** What to do about a schedule next. */
export function decideSchedule(facts: ScheduleFacts): ScheduleStep {
  const { schedule, now, zone } = facts
  const { spec, status, metadata } = schedule
  if (metadata.deletionTimestamp !== undefined || spec.paused === true) return { type: 'ignore' }
  const read = readCron(schedule, zone)
  if ('problems' in read) {
    const isKnown = status?.phase === 'FailedValidation' && sameTexts(status.validationErrors, read.problems)
    return isKnown ? { type: 'ignore' } : { type: 'refuse', validationErrors: read.problems }
  }
  if (spec.skipImmediately ?? (facts.skipByDefault && isUntouched(schedule))) return { type: 'skip' }
  if (status?.phase !== 'Enabled') return { type: 'enable' }
  const correction = correctedTimes(schedule, now)
  if (correction !== undefined) return { type: 'correct', status: correction }
  const due = nextTime(read.cron, lastTime(schedule, now))
  if (due === undefined) return { type: 'ignore' }
  return due < now ? whenDue(due, facts) : { type: 'wait', until: due }
}

function whenDue(due: number, { schedule, backups, unnoted, now, zone }: ScheduleFacts): ScheduleStep {
  const own = dueOf(unnoted) === formatTime(due) ? unnoted : undefined
  const made = own ?? backups.find(backup => isFor(due, backup))
  // The API server's clock may be behind: a time before the one that is due would make it due again.
  if (made !== undefined) return { type: 'note', made: Math.max(createdAt(made), due) }
  const running = backups.find(({ status }) => isUnderWay(status?.phase))
  if (running !== undefined) return { type: 'hold', behind: running.metadata.name ?? '' }
  return { type: 'make', backup: dueBackup(schedule, { due, now, zone }) }
}

/** One that was made long before is from a time when the clock was wrong. */
function isFor(due: number, backup: Backup): boolean {
  return dueOf(backup) === formatTime(due) && createdAt(backup) >= due - skewMs
}

/** The time for which a schedule made a backup. */
export function dueOf(backup: Backup | undefined): string | undefined {
  return backup?.metadata.annotations?.[dueAnnotation]
}

function createdAt({ metadata }: Backup): number {
  return parseTime(metadata.creationTimestamp ?? '')
}

/** One that is being deleted does not stand in the way of the next, however long that takes. */
function isUnderWay(phase: BackupPhase | undefined): boolean {
  return phase !== 'Deleting' && !isTerminal(BackupKind, phase)
}

const longestName = 253

function readCron(
  { metadata, spec }: Schedule,
  zone: TimeZone,
): { cron: CronSchedule } | { problems: string[] } {
  const most = longestName - timestampLength
  if ((metadata.name ?? '').length > most) {
    return {
      problems: [`the name is too long: its backups would have none, because it may have ${most} characters`],
    }
  }
  try {
    return { cron: parseCron(spec.schedule, zone) }
  } catch (error) {
    if (!(error instanceof CronError)) throw error
    return { problems: [`invalid schedule: ${error.message}; ${error.hint}`] }
  }
}

/** The server's default is for schedules that are new to it. */
function isUntouched({ status }: Schedule): boolean {
  return !status?.lastSkipped && !status?.lastBackup
}

/** When a backup was made or left out the last time, or when the schedule began. */
function lastTime({ metadata, status }: Schedule, now: number): number {
  const { creationTimestamp = '' } = metadata
  // A schedule that was made ahead of now has a time in its status: it was corrected.
  const began = status?.lastBackup ?? (isAhead(creationTimestamp, now) ? undefined : creationTimestamp)
  const skipped = status?.lastSkipped
  return Math.max(began === undefined ? 0 : parseTime(began), skipped ? parseTime(skipped) : 0)
}

/** Clocks of two servers may differ by this much without harm. */
const skewMs = 60_000

function isAhead(time: string | null | undefined, now: number): boolean {
  return !!time && parseTime(time) > now + skewMs
}

function correctedTimes({ metadata, status }: Schedule, now: number) {
  const { lastBackup, lastSkipped } = status ?? {}
  // Nobody can change when it was made, and there was no backup: what was due until now is left out.
  const isMadeAhead = !lastBackup && !lastSkipped && isAhead(metadata.creationTimestamp, now)
  const corrected = {
    ...(isAhead(lastBackup, now) && { lastBackup: formatTime(now) }),
    ...((isAhead(lastSkipped, now) || isMadeAhead) && { lastSkipped: formatTime(now) }),
  }
  return Object.keys(corrected).length > 0 ? corrected : undefined
}

function sameTexts(some: readonly string[] | null | undefined, others: readonly string[]): boolean {
  return some?.length === others.length && others.every((text, at) => some[at] === text)
}
