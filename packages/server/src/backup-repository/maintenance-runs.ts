import { type BackupRepository, formatTime, type MaintenanceRun, parseTime } from '@lateen/api'
import type { Job } from './maintenance-job.ts'

/** How many runs a BackupRepository remembers. */
export const rememberedRuns = 3

/** Stands before the reason in what a failed Job says last. */
export const failureMark = 'Repo maintenance error: '

/** Whether a Job has come to an end, good or bad. */
export function hasFinished({ status }: Job): boolean {
  return (status?.succeeded ?? 0) > 0 || hasFailed(status)
}

function hasFailed(status: Job['status']): boolean {
  return (status?.failed ?? 0) > 0 || failedCondition(status) !== undefined
}

function failedCondition(status: Job['status']) {
  return status?.conditions?.find(({ type, status }) => type === 'Failed' && status === 'True')
}

/** What a finished Job did, with what its container said last if it failed. */
export function runOf({ metadata, status }: Job, lastWords: string | undefined): MaintenanceRun {
  const failed = hasFailed(status)
  const ended = status?.completionTime ?? failedCondition(status)?.lastTransitionTime
  return {
    result: failed ? 'Failed' : 'Succeeded',
    ...(metadata.creationTimestamp && { startTimestamp: metadata.creationTimestamp }),
    ...(ended && { completeTimestamp: ended }),
    ...(failed && {
      message: reasonIn(lastWords) ?? failedCondition(status)?.message ?? 'the reason is not known',
    }),
  }
}

function reasonIn(lastWords: string | undefined): string | undefined {
  if (!lastWords) return undefined
  const at = lastWords.lastIndexOf(failureMark)
  const reason = at < 0 ? lastWords : lastWords.slice(at + failureMark.length)
  return reason.trim() || undefined
}

/** The finished Jobs that a repository does not remember yet and still can, oldest first. */
export function unrecordedJobs({ status }: BackupRepository, jobs: readonly Job[]): Job[] {
  const known = (status?.recentMaintenance ?? []).map(({ startTimestamp }) => timeOf(startTimestamp))
  const oldest = known.length < rememberedRuns ? Number.NEGATIVE_INFINITY : Math.min(...known)
  return jobs
    .filter(hasFinished)
    .filter(job => !known.includes(createdAt(job)) && createdAt(job) > oldest)
    .sort((a, b) => createdAt(a) - createdAt(b))
}

/** What a repository remembers once these runs are known too. */
export function remembering(
  { status }: BackupRepository,
  runs: readonly MaintenanceRun[],
): { recentMaintenance: MaintenanceRun[]; lastMaintenanceTime?: string } {
  const recent = [...(status?.recentMaintenance ?? []), ...runs]
    .sort((a, b) => timeOf(a.startTimestamp) - timeOf(b.startTimestamp))
    .slice(-rememberedRuns)
  const ends = runs
    .filter(({ result }) => result === 'Succeeded')
    .map(({ completeTimestamp, startTimestamp }) => timeOf(completeTimestamp ?? startTimestamp))
  const last = Math.max(...ends, timeOf(status?.lastMaintenanceTime ?? undefined))
  return {
    recentMaintenance: recent,
    ...(Number.isFinite(last) && { lastMaintenanceTime: formatTime(last) }),
  }
}

/** The finished Jobs beyond those that are to stay, oldest first. */
export function surplusJobs(jobs: readonly Job[], kept: number): Job[] {
  const finished = jobs.filter(hasFinished).sort((a, b) => createdAt(a) - createdAt(b))
  return finished.slice(0, Math.max(0, finished.length - kept))
}

function createdAt({ metadata }: Job): number {
  return timeOf(metadata.creationTimestamp)
}

function timeOf(text: string | null | undefined): number {
  return text ? parseTime(text) : Number.NEGATIVE_INFINITY
}
