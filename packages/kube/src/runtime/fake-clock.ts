import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'

interface Sleeper {
  dueAt: number
  wake: () => void
}

/** Node's timers hold no more; a longer one would end at once. */
const longestTimerMs = 2 ** 31 - 1

/**
 * Time for tests: it moves only in `advance`, and then through every due moment in order, letting everything that a
 * moment sets off come to rest before the next one. Sleeps end exactly when due and reject when their signal aborts.
 * Throws a RangeError for a sleep that a real timer could not hold.
 */
export class FakeClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(startAt = 1_700_000_000_000) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms > longestTimerMs) throw new RangeError(`No timer can hold ${ms} ms`)
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const giveUp = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      const wake = () => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const sleeper = { dueAt: this.#now + ms, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Lets everything that needs no time come to rest. */
  async settle(): Promise<void> {
    await setImmediate()
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    await this.settle()
    for (let next = this.#nextDue(until); next !== undefined; next = this.#nextDue(until)) {
      this.#now = Math.max(this.#now, next.dueAt)
      next.wake()
      await this.settle()
    }
    this.#now = until
  }

  #nextDue(until: number): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueAt <= until && sleeper.dueAt < (first?.dueAt ?? Number.POSITIVE_INFINITY))
        first = sleeper
    }
    return first
  }
}
