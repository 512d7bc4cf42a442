import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../clock/clock.ts'

const longestTurn = 25

/** Keeps long runs of synchronous calls from starving timers, sockets and cancellation. */
export class Pace {
  readonly #clock: Clock
  #turnStarted: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#turnStarted = clock.now()
  }

  /** True when the event loop has waited long enough; then await `rest`. */
  get due(): boolean {
    return this.#clock.now() - this.#turnStarted >= longestTurn
  }

  /** Lets the event loop run once. */
  async rest(): Promise<void> {
    await setImmediate()
    this.#turnStarted = this.#clock.now()
  }
}
