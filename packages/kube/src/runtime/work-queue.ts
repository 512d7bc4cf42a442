import type { Clock } from '../clock.ts'
import { type Backoff, backoffDelay, defaultBackoff } from './backoff.ts'
import { LinkedAbort } from './linked-abort.ts'

/** Timers cannot hold more than 24 days; longer waits are slept in slices. */
const longestSleepMs = 3_600_000

/** Told about everything that a metric could want. Must not throw. */
export interface QueueObserver {
  /** Keys that are ready and not yet begun, after each change. */
  depth?(keys: number): void
  added?(key: string): void
  retried?(key: string, delayMs: number): void
  /** `waitedMs`: from ready to begun. */
  began?(key: string, waitedMs: number): void
  finished?(key: string, workedMs: number): void
}

export interface WorkQueueOptions {
  clock: Clock
  random: () => number
  /** Default: `defaultBackoff`. */
  backoff?: Backoff
  observer?: QueueObserver
}

export interface WorkOptions {
  workers: number
  /** Ends `run`: keys being worked on finish, waiting ones are dropped. */
  signal: AbortSignal
  /** A throw is a failure and retries the key. */
  work: (key: string) => Promise<void>
}

/**
 * A set of keys to be worked on. A key waits at most once and is never worked on twice at the same time; added while
 * being worked on, it comes again once afterwards. Of several planned times for one key the earliest wins, so a key
 * that becomes ready forgets its delayed add: the work that follows decides anew.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #backoff: Backoff
  readonly #observer: QueueObserver
  /** Key to the time it became ready, in order of arrival. */
  readonly #ready = new Map<string, number>()
  readonly #running = new Set<string>()
  readonly #cameWhileRunning = new Set<string>()
  /**
   * Key to due time. Finding the next one is a scan; at one fire per second and 10,000 keys that is below a
   * thousandth of a core, so a heap is not worth its code.
   */
  readonly #delayed = new Map<string, number>()
  readonly #failures = new Map<string, number>()
  readonly #idleWorkers: (() => void)[] = []
  #alarm: { dueAt: number; rearm: () => void } | undefined
  #state: 'open' | 'stopped' = 'open'

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock
    this.#random = options.random
    this.#backoff = options.backoff ?? defaultBackoff
    this.#observer = options.observer ?? {}
  }

  /** Keys that are ready and not yet begun. */
  get depth(): number {
    return this.#ready.size
  }

  /** Keys being worked on right now. */
  get running(): readonly string[] {
    return [...this.#running]
  }

  /** Makes the key ready now. Ignored after the queue stopped. */
  add(key: string): void {
    if (this.#state === 'stopped') return
    this.#delayed.delete(key)
    if (this.#ready.has(key) || this.#cameWhileRunning.has(key)) return
    this.#observer.added?.(key)
    if (this.#running.has(key)) this.#cameWhileRunning.add(key)
    else this.#makeReady(key)
  }

  /** Makes the key ready after the delay, unless it is or becomes ready before. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key)
      return
    }
    if (this.#state === 'stopped' || this.#ready.has(key) || this.#cameWhileRunning.has(key)) return
    const dueAt = this.#clock.now() + delayMs
    if (dueAt >= (this.#delayed.get(key) ?? Number.POSITIVE_INFINITY)) return
    this.#delayed.set(key, dueAt)
    if (this.#alarm !== undefined && dueAt < this.#alarm.dueAt) this.#alarm.rearm()
  }

  /** Counts a failure and adds the key after its backoff, which is returned. */
  retry(key: string): number {
    const failures = this.failures(key) + 1
    this.#failures.set(key, failures)
    const delayMs = backoffDelay(this.#backoff, failures, this.#random)
    this.#observer.retried?.(key, delayMs)
    this.addAfter(key, delayMs)
    return delayMs
  }

  /** Starts the key's backoff afresh. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Failures counted since the key was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /** Works until the signal aborts, then until running keys have finished. A queue runs once. */
  async run({ workers, signal, work }: WorkOptions): Promise<void> {
    const stop = () => this.#stop()
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    const team = Array.from({ length: workers }, () => this.#workOn(work))
    await Promise.all([this.#fireDelayed(signal), ...team])
  }

  async #workOn(work: WorkOptions['work']): Promise<void> {
    for (let key = await this.#next(); key !== undefined; key = await this.#next()) {
      const beganAt = this.#clock.now()
      try {
        await work(key)
      } catch {
        this.retry(key)
      }
      this.#finish(key, beganAt)
    }
  }

  async #next(): Promise<string | undefined> {
    while (this.#state === 'open') {
      for (const [key, readySince] of this.#ready) {
        this.#begin(key, readySince)
        return key
      }
      await new Promise<void>(wake => this.#idleWorkers.push(wake))
    }
    return undefined
  }

  #makeReady(key: string): void {
    this.#ready.set(key, this.#clock.now())
    this.#observer.depth?.(this.#ready.size)
    this.#idleWorkers.shift()?.()
  }

  #begin(key: string, readySince: number): void {
    this.#ready.delete(key)
    this.#running.add(key)
    this.#observer.depth?.(this.#ready.size)
    this.#observer.began?.(key, this.#clock.now() - readySince)
  }

  #finish(key: string, beganAt: number): void {
    this.#running.delete(key)
    this.#observer.finished?.(key, this.#clock.now() - beganAt)
    if (this.#cameWhileRunning.delete(key) && this.#state === 'open') this.#makeReady(key)
  }

  async #fireDelayed(signal: AbortSignal): Promise<void> {
    while (this.#state === 'open') {
      await this.#sleepUntilDue(signal)
      const now = this.#clock.now()
      for (const [key, dueAt] of this.#delayed) if (dueAt <= now) this.add(key)
    }
  }

  async #sleepUntilDue(signal: AbortSignal): Promise<void> {
    let dueAt = Number.POSITIVE_INFINITY
    for (const each of this.#delayed.values()) dueAt = Math.min(dueAt, each)
    using alarm = new LinkedAbort(signal)
    this.#alarm = { dueAt, rearm: () => alarm.abort() }
    const waitMs = Math.max(0, Math.min(longestSleepMs, dueAt - this.#clock.now()))
    await this.#clock.sleep(waitMs, alarm.signal).catch(() => {})
    this.#alarm = undefined
  }

  #stop(): void {
    this.#state = 'stopped'
    this.#ready.clear()
    this.#delayed.clear()
    this.#cameWhileRunning.clear()
    this.#observer.depth?.(0)
    for (const wake of this.#idleWorkers.splice(0)) wake()
  }
}
