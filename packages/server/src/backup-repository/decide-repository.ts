import { type BackupRepository, type BackupStorageLocation, parseGoDuration, parseTime } from '@lateen/api'
import type { Job } from './maintenance-job.ts'
import { hasFinished, surplusJobs, unrecordedJobs } from './maintenance-runs.ts'

/** What was observed of one repository. */
export interface RepositoryFactsNow {
  readonly repository: BackupRepository
  /** Undefined when there is none of that name. */
  readonly location: BackupStorageLocation | undefined
  /** Changes when the location's place or access does. */
  readonly place: string | undefined
  /** The one that the repository was last opened with. */
  readonly openedPlace: string | undefined
  /** Of this repository. */
  readonly jobs: readonly Job[]
  readonly keptJobs: number
  /** When it was last tried to open it, by this server. */
  readonly triedAt: number | undefined
  readonly now: number
}

/** The next thing to do about a repository. */
export type RepositoryStep =
  | { readonly type: 'ignore' }
  | { readonly type: 'wait'; readonly until: number }
  /** Its location is gone. */
  | { readonly type: 'lose'; readonly message: string }
  /** Open it, and make it when there is none. */
  | { readonly type: 'prepare' }
  | { readonly type: 'record'; readonly jobs: readonly Job[] }
  | { readonly type: 'tidy'; readonly jobs: readonly Job[] }
  | { readonly type: 'maintain' }

/** How long one that could not be opened is left alone, unless its location changes. */
const RETRY_MS = 60_000

/** Maintenance that cannot be had is tried again after this. */
const FAILED_REST_MS = 300_000

export function decideRepository(facts: RepositoryFactsNow): RepositoryStep {
  const { repository, location, now, triedAt } = facts
  const phase = repository.status?.phase || 'New'
  if (repository.metadata.deletionTimestamp !== undefined) return { type: 'ignore' }
  if (location === undefined) {
    const message = `the backup storage location ${repository.spec.backupStorageLocation} does not exist`
    const isSaid = phase === 'NotReady' && repository.status?.message === message
    return isSaid ? { type: 'ignore' } : { type: 'lose', message }
  }
  const moved = facts.openedPlace !== undefined && facts.openedPlace !== facts.place
  if (phase === 'New' || (phase === 'Ready' && moved)) return { type: 'prepare' }
  if (phase === 'NotReady') {
    const isFresh = triedAt !== undefined && now < triedAt + RETRY_MS && !moved
    return isFresh ? { type: 'wait', until: triedAt + RETRY_MS } : { type: 'prepare' }
  }
  return location.spec.accessMode === 'ReadOnly' ? { type: 'ignore' } : decideMaintenance(facts)
}

function decideMaintenance({ repository, jobs, keptJobs, now }: RepositoryFactsNow): RepositoryStep {
  const unrecorded = unrecordedJobs(repository, jobs)
  if (unrecorded.length > 0) return { type: 'record', jobs: unrecorded }
  // Its end is an event.
  if (jobs.some(job => !hasFinished(job))) return { type: 'ignore' }
  const surplus = surplusJobs(jobs, keptJobs)
  if (surplus.length > 0) return { type: 'tidy', jobs: surplus }
  const due = dueAt(repository)
  return due > now ? { type: 'wait', until: due } : { type: 'maintain' }
}

/** When maintenance is due; after a failure not at once. */
function dueAt({ spec, status }: BackupRepository): number {
  const { lastMaintenanceTime } = status ?? {}
  if (!lastMaintenanceTime) return Number.NEGATIVE_INFINITY
  const due = parseTime(lastMaintenanceTime) + Number(parseGoDuration(spec.maintenanceFrequency) / 1_000_000n)
  const last = status?.recentMaintenance?.at(-1)
  if (last?.result !== 'Failed' || !last.startTimestamp) return due
  return Math.max(due, parseTime(last.startTimestamp) + FAILED_REST_MS)
}
