import type { Backup } from '@lateen/api'
import { BackupKind, formatTime, labelNames, type Schedule, ScheduleKind, validLabelValue } from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isAlreadyExists,
  type KubeClient,
  KubeError,
  keyOf,
  type Outcome,
  type ReconcileContext,
  unlessNotFound,
  watching,
} from '@lateen/kube'
import { decideSchedule, dueOf, type ScheduleStep } from '../schedule/decide-schedule.ts'
import type { TimeZone } from '../schedule/zoned-time.ts'
import { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { recordEvent } from './record-event.ts'

export interface ScheduleControllerOptions {
  client: KubeClient
  informer: Informer<Schedule>
  backups: LatestObjects<Backup>
  clock: Clock
  /** Whether schedules that do not say leave out a backup that is due at once. */
  skipByDefault: boolean
  zone: TimeZone
}

/** Clocks are set, and machines sleep: nobody waits longer than this without a look at the time. */
const LONGEST_WAIT_MS = 30_000

/** How often a schedule looks whether its last backup has ended. */
const HOLD_MS = 5_000

/** Makes the backups of schedules when they are due. */
export function scheduleController(options: ScheduleControllerOptions): ControllerOptions {
  const { informer, backups, clock, skipByDefault, zone } = options
  const schedules = new LatestObjects(informer)
  const unnoted = new Map<string, Backup>()
  const tried = new Map<string, Backup>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const schedule = schedules.get(key)
    if (schedule === undefined) {
      unnoted.delete(key)
      tried.delete(key)
      return done()
    }
    const label = validLabelValue(schedule.metadata.name ?? '')
    const own = backups.list().filter(({ metadata }) => metadata.labels?.[labelNames.scheduleName] === label)
    const now = clock.now()
    const facts = { schedule, backups: own, unnoted: unnoted.get(key), now, skipByDefault, zone }
    return act(decideSchedule(facts), schedule, { ...options, ...context, schedules, unnoted, tried })
  }

  return { name: 'schedule', sources: [watching({ informer })], reconcile, concurrency: 4 }
}

interface Scope extends ScheduleControllerOptions, ReconcileContext {
  schedules: LatestObjects<Schedule>
  /** By the schedule's key: the backup that was made for it until the schedule says so. */
  unnoted: Map<string, Backup>
  /** By the schedule's key: the backup of which nobody knows whether it was made, because there was no answer. */
  tried: Map<string, Backup>
}

async function act(step: ScheduleStep, schedule: Schedule, scope: Scope): Promise<Outcome> {
  const now = scope.clock.now()
  const enabled = { phase: 'Enabled' as const, validationErrors: null }
  switch (step.type) {
    case 'ignore':
      return done()
    case 'wait':
      return again({ afterMs: Math.min(LONGEST_WAIT_MS, step.until - now + 1) })
    case 'hold':
      scope.log.debug({ behind: step.behind }, 'a backup is due, but an earlier one has not ended')
      return again({ afterMs: HOLD_MS })
    case 'refuse': {
      const validationErrors = [...step.validationErrors]
      await write(schedule, { status: { phase: 'FailedValidation', validationErrors } }, scope)
      await tellOfRefusal(schedule, validationErrors.join('; '), scope)
      return done()
    }
    case 'enable':
      await write(schedule, { status: enabled }, scope)
      return again({ afterMs: 0 })
    case 'skip': {
      const status = { ...enabled, lastSkipped: formatTime(now) }
      await write(schedule, { spec: { skipImmediately: false }, status }, scope)
      return again({ afterMs: 0 })
    }
    case 'note':
      await note(schedule, step.made, scope)
      return again({ afterMs: 0 })
    case 'correct':
      scope.log.warn(
        { schedule: schedule.metadata.name },
        'the clock was put back: times are counted from now',
      )
      await write(schedule, { status: step.status }, scope)
      return again({ afterMs: 0 })
    case 'make':
      await make(step.backup, schedule, scope)
      return again({ afterMs: 0 })
  }
}

/**
 * A server that dies in between finds the backup by the time that it was due. Throws what the API server says: where another backup has its
 * name, the next attempt, in another second, has another one.
 */
async function make(wanted: Backup, schedule: Schedule, scope: Scope): Promise<void> {
  const { backups, clock, log, tried } = scope
  const key = keyOf(schedule)
  const before = tried.get(key)
  const backup = before !== undefined && dueOf(before) === dueOf(wanted) ? before : wanted
  tried.set(key, backup)
  const created = await createOnce(backup, scope).catch((error: unknown) => {
    // What is refused was not made: the schedule may be another one next time.
    if (isRefusal(error)) tried.delete(key)
    throw error
  })
  tried.delete(key)
  backups.note(created)
  scope.unnoted.set(key, created)
  log.info({ schedule: schedule.metadata.name, backup: created.metadata.name }, 'a backup was due')
  await note(schedule, clock.now(), scope)
}

/** The backup, also where it was made before and the answer was lost. */
async function createOnce(backup: Backup, { client, signal }: Scope): Promise<Backup> {
  const backups = client.resource(BackupKind, backup.metadata.namespace)
  try {
    return await backups.create(backup, { signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const found = await backups.get(backup.metadata.name ?? '', { signal }).catch(unlessNotFound)
    if (found !== undefined && dueOf(found) === dueOf(backup) && isAlike(found, backup)) return found
    throw error
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof KubeError) || error.retryable || error.mayHaveActed) return false
  return isAlreadyExists(error) || error.status !== undefined
}

function isAlike(one: Backup, other: Backup): boolean {
  const [a, b] = [one, other].map(({ metadata }) => metadata.labels?.[labelNames.scheduleName])
  return a === b
}

async function note(schedule: Schedule, made: number, scope: Scope): Promise<void> {
  await write(schedule, { status: { lastBackup: formatTime(made) } }, scope)
  scope.unnoted.delete(keyOf(schedule))
}

/** With its version: who was overtaken by another server, or by a user, looks again. Throws a conflict then. */
function write(schedule: Schedule, body: object, { client, schedules, signal }: Scope) {
  const { resourceVersion } = schedule.metadata
  const patch = { type: 'merge', body: { ...body, metadata: { resourceVersion } } } as const
  return patchObject(schedule, { kind: ScheduleKind, patch }, { client, latest: schedules, signal })
}

async function tellOfRefusal(schedule: Schedule, message: string, scope: Scope): Promise<void> {
  const { client, clock, log, signal } = scope
  const reason = 'ScheduleFailedValidation'
  log.warn({ schedule: schedule.metadata.name, problem: message }, 'a schedule cannot be used')
  await recordEvent({ about: schedule, type: 'Warning', reason, message }, { client, clock, log, signal })
}
