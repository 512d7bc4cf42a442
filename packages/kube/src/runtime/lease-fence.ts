import { uptime } from 'node:os'
import { type Fence, FencedError } from '../fence.ts'

/**
 * Milliseconds of a clock that nobody sets, and that goes on while this process is stopped or the machine sleeps. Only
 * differences mean something.
 */
export function steadyNow(): number {
  // The first of both does not count sleep. The second does, in coarse steps, unless a container has its own uptime.
  return Math.max(Number(process.hrtime.bigint()) / 1e6, uptime() * 1000)
}

/**
 * Open while a lease is surely ours: from the moment in which it was taken until the deadline of its last renewal. It closes by
 * itself, whether or not a timer could run, and for good: whatever was planned before is not sent after a lease that was taken again.
 */
export class LeaseFence implements Fence {
  readonly #now: () => number
  /** Undefined before the first time, a moment that has passed for good once it is over. */
  #heldUntil: number | undefined

  constructor(now: () => number = steadyNow) {
    this.#now = now
  }

  /** The time that `hold` is told in. */
  now(): number {
    return this.#now()
  }

  get holds(): boolean {
    return this.#heldUntil !== undefined && this.#now() < this.#heldUntil
  }

  /** The lease is ours until that moment. False when it is too late: the moment has passed, or one before it had. */
  hold(until: number): boolean {
    if (!this.holds) this.close()
    if (this.#now() >= until || this.#heldUntil === over) return false
    this.#heldUntil = Math.max(this.#heldUntil ?? until, until)
    return true
  }

  /** The lease is given back, or lost. One that was never held may still be. */
  close(): void {
    if (this.#heldUntil !== undefined) this.#heldUntil = over
  }

  check(change: string): void {
    if (this.holds) return
    const reason = this.#heldUntil === undefined ? 'is not ours' : 'is not ours any more'
    throw new FencedError(change, `the lease of the leader ${reason}`)
  }
}

const over = Number.NEGATIVE_INFINITY
