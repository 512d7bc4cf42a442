import { randomBytes as systemRandomBytes } from 'node:crypto'
import { type BlobStorage, blobId } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { goTimeFromMillis } from '../go-json/go-time.ts'
import { rescheduled, withFullInterval } from './choose-mode.ts'
import type { MaintenanceParams } from './params.ts'
import { maxClockSkew } from './safety.ts'
import {
  emptySchedule,
  type MaintenanceSchedule,
  openSchedule,
  type RunRecord,
  recordRun,
  sealSchedule,
} from './schedule.ts'
import type { MaintenanceMode } from './task.ts'

/** The blob that holds the schedule. */
export const scheduleBlobId = blobId('kopia.maintenance')

/** Where the schedule is kept and how it is sealed. */
export interface ScheduleStore {
  storage: BlobStorage
  /** Maintenance key of the repository. */
  key: Uint8Array
  clock: Pick<Clock, 'now'>
  randomBytes?: ((length: number) => Uint8Array) | undefined
}

/**
 * The right to maintain, as far as the format knows one: the schedule blob as this run last wrote it. Whoever else
 * begins a run writes that blob first, so that other bytes in it mean another maintainer.
 */
export interface MaintenanceLease {
  /** Storage time at which this run wrote the schedule first, in milliseconds. */
  readonly maintenanceStart: number
  /** What was last written. */
  readonly schedule: MaintenanceSchedule
  /** Throws `LOCKED` when another maintainer has written the schedule; writes it again when that was long ago. */
  confirm(signal?: AbortSignal): Promise<void>
  /** `confirm` when the schedule was written long ago, else nothing; cheap enough for every turn of a long loop. */
  keep(signal?: AbortSignal): Promise<void>
  /**
   * Adds a run to the history. When another maintainer has written meanwhile, the run is added to theirs. Throws
   * `CLOCK_SKEW`, and adds nothing, when a clock was set during the run: later runs would count on its times.
   */
  record(task: string, run: RunRecord, signal?: AbortSignal): Promise<void>
}

/** The run that takes a lease. */
export interface LeasedRun {
  mode: MaintenanceMode
  params: MaintenanceParams
  /** As it was read just before. */
  schedule: MaintenanceSchedule
}

// Well below the hour after which a client that runs quick maintenance when it is due would begin.
const renewAfter = 15 * 60_000

/** The schedule as stored, or an empty one. Throws `CORRUPT`. */
export async function readSchedule(store: ScheduleStore, signal?: AbortSignal): Promise<MaintenanceSchedule> {
  const bytes = await readBlob(store.storage, signal)
  return bytes === undefined ? emptySchedule : openSchedule(bytes, store.key)
}

/**
 * Begins a run: writes the schedule with the next cycles an interval away, and compares the storage's clock with ours.
 * Throws `CLOCK_SKEW` when they differ by more than five minutes, because every safety rule compares the two.
 */
export async function takeLease(
  store: ScheduleStore,
  run: LeasedRun,
  signal?: AbortSignal,
): Promise<MaintenanceLease> {
  const lease = new ScheduleLease(store, run)
  await lease.begin(run.schedule, signal)
  return lease
}

/**
 * Moves the next full run, for an interval that becomes another one: what was scheduled by a longer one is too far away. A run
 * that is under way ends with `LOCKED` then, as when another one begins.
 */
export async function rescheduleFull(
  store: ScheduleStore,
  interval: { before: bigint; after: bigint },
  signal?: AbortSignal,
): Promise<void> {
  const schedule = await readSchedule(store, signal)
  const moved = withFullInterval(schedule, { ...interval, now: goTimeFromMillis(store.clock.now()) })
  if (moved !== schedule) await store.storage.put(scheduleBlobId, sealed(store, moved), { signal })
}

class ScheduleLease implements MaintenanceLease {
  schedule: MaintenanceSchedule = emptySchedule
  maintenanceStart = 0
  readonly #store: ScheduleStore
  readonly #run: LeasedRun
  #written: Uint8Array = new Uint8Array(0)
  #writtenAt = 0

  constructor(store: ScheduleStore, run: LeasedRun) {
    this.#store = store
    this.#run = run
  }

  async begin(current: MaintenanceSchedule, signal: AbortSignal | undefined): Promise<void> {
    this.maintenanceStart = await this.#writeByRightClock(this.#postponed(current), current, signal)
  }

  async confirm(signal?: AbortSignal): Promise<void> {
    const bytes = await readBlob(this.#store.storage, signal)
    if (bytes === undefined || !sameBytes(bytes, this.#written)) throw leaseLost()
    if (this.#isFresh()) return
    await this.#write(this.#postponed(this.schedule), signal)
  }

  async keep(signal?: AbortSignal): Promise<void> {
    if (!this.#isFresh()) await this.confirm(signal)
  }

  #isFresh(): boolean {
    return Math.abs(this.#store.clock.now() - this.#writtenAt) < renewAfter
  }

  async record(task: string, run: RunRecord, signal?: AbortSignal): Promise<void> {
    const bytes = await readBlob(this.#store.storage, signal)
    if (bytes === undefined || sameBytes(bytes, this.#written)) {
      await this.#writeByRightClock(recordRun(this.schedule, task, run), this.schedule, signal)
      return
    }
    // The lease stays lost: what is written here is not what `confirm` compares with.
    const theirs = recordRun(openSchedule(bytes, this.#store.key), task, run)
    await this.#store.storage.put(scheduleBlobId, this.#seal(theirs), { signal })
  }

  /** The storage's time of the write. Writes `before` and throws when that is not our time: `schedule` holds wrong times. */
  async #writeByRightClock(
    schedule: MaintenanceSchedule,
    before: MaintenanceSchedule,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    await this.#write(schedule, signal)
    const { timestamp } = await this.#store.storage.head(scheduleBlobId, { signal })
    const now = this.#store.clock.now()
    if (Math.abs(timestamp - now) <= maxClockSkew) return timestamp
    await this.#write(before, signal)
    throw clocksDiffer(timestamp, now)
  }

  async #write(schedule: MaintenanceSchedule, signal: AbortSignal | undefined): Promise<void> {
    const bytes = this.#seal(schedule)
    await this.#store.storage.put(scheduleBlobId, bytes, { signal })
    this.schedule = schedule
    this.#written = bytes
    this.#writtenAt = this.#store.clock.now()
  }

  #postponed(schedule: MaintenanceSchedule): MaintenanceSchedule {
    const now = goTimeFromMillis(this.#store.clock.now())
    return rescheduled(schedule, this.#run.mode, { params: this.#run.params, now })
  }

  #seal(schedule: MaintenanceSchedule): Uint8Array {
    return sealed(this.#store, schedule)
  }
}

function sealed({ key, randomBytes = systemRandomBytes }: ScheduleStore, schedule: MaintenanceSchedule) {
  return sealSchedule(schedule, key, randomBytes(12))
}

async function readBlob(
  storage: BlobStorage,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  try {
    return await storage.get(scheduleBlobId, { signal })
  } catch (error) {
    if (isRepoError(error, 'BLOB_NOT_FOUND')) return undefined
    throw error
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

function leaseLost(): RepoError {
  return new RepoError('LOCKED', {
    message:
      'Another maintainer has begun: the maintenance schedule was written by somebody else during this run',
    hint: 'Let one client maintain the repository; this run ended before its next deletion and can be repeated later',
    blobId: scheduleBlobId,
    retryable: true,
  })
}

function clocksDiffer(storageTime: number, localTime: number): RepoError {
  const seconds = Math.round(Math.abs(storageTime - localTime) / 1000)
  return new RepoError('CLOCK_SKEW', {
    message: `The clock of this machine and that of the storage differ by ${seconds} seconds, more than 5 minutes`,
    hint: 'Set the clocks right; with wrong ones maintenance could delete what an upload has just written',
    blobId: scheduleBlobId,
  })
}
