import type { Clock } from '@lateen/kube'

/**
 * How long something is tried again that fails, counted from its first failure here. A server that starts has all its patience: what is
 * in the way may have been in the way of the server before.
 */
export class Patience {
  readonly #clock: Clock
  readonly #patienceMs: number
  readonly #since = new Map<string, number>()

  constructor({ clock, patienceMs }: { clock: Clock; patienceMs: number }) {
    this.#clock = clock
    this.#patienceMs = patienceMs
  }

  /** Told of a failure. Whether it is to be tried again. */
  lasts(uid: string): boolean {
    const now = this.#clock.now()
    const since = this.#since.get(uid) ?? now
    this.#since.set(uid, since)
    return now < since + this.#patienceMs
  }

  /** It has gone well, or was given up. */
  forget(uid: string): void {
    this.#since.delete(uid)
  }
}
