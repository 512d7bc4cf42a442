import { type Clock, KubeError } from '@lateen/kube'
import { nextPace, type Pace, startPace } from './pace.ts'

export interface RequestGateOptions {
  clock: Clock
  /** Requests that may be under way when the server is quick. At least 1. */
  most: number
}

/**
 * Lets through as many requests at a time as the server copes with. One gate stands before one API server, whoever sends:
 * several restores share it.
 */
export class RequestGate {
  readonly #clock: Clock
  readonly #most: number
  #pace: Pace
  #underWay = 0
  #pausedUntil = 0
  readonly #waiting: (() => void)[] = []

  constructor({ clock, most }: RequestGateOptions) {
    this.#clock = clock
    this.#most = Math.max(1, Math.trunc(most))
    this.#pace = startPace(this.#most)
  }

  /** How many requests may be under way now. */
  get limit(): number {
    return this.#pace.limit
  }

  /** Sends when there is room. Throws what `send` throws, or the signal's reason. */
  async run<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    while (this.#underWay >= this.#pace.limit) await this.#room()
    this.#underWay += 1
    try {
      await this.#pauseOver(signal)
      return await this.#timed(send)
    } finally {
      this.#underWay -= 1
      this.#letIn()
    }
  }

  async #timed<T>(send: () => Promise<T>): Promise<T> {
    const began = this.#clock.now()
    try {
      return await send()
    } catch (error) {
      if (error instanceof KubeError && (error.status === 429 || error.retryAfterMs !== undefined)) {
        this.#pace = nextPace(this.#pace, { kind: 'refused' }, this.#most)
        this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + (error.retryAfterMs ?? 0))
      }
      throw error
    } finally {
      this.#pace = nextPace(this.#pace, { kind: 'answered', ms: this.#clock.now() - began }, this.#most)
    }
  }

  async #pauseOver(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    for (let left = this.#pausedUntil - this.#clock.now(); left > 0; ) {
      await this.#clock.sleep(left, signal)
      left = this.#pausedUntil - this.#clock.now()
    }
  }

  async #room(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }

  #letIn(): void {
    const room = this.#pace.limit - this.#underWay
    for (const enter of this.#waiting.splice(0, Math.max(0, room))) enter()
  }
}
