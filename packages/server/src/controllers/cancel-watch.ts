import type { Clock } from '@lateen/kube'

export interface CancelWatchOptions {
  clock: Clock
  /** Whether somebody has asked for the end by now. Cheap. */
  isRequested(): boolean
}

/** The informer's cache is looked at this often. */
const EVERY_MS = 250

/**
 * Looks whether somebody asks for the end of work under way: a key that is being reconciled is not reconciled again meanwhile. Disposing
 * ends it.
 */
export class CancelWatch implements AsyncDisposable {
  readonly #requested = new AbortController()
  readonly #ended = new AbortController()
  readonly #watching: Promise<void>

  constructor(options: CancelWatchOptions) {
    this.#watching = this.#watch(options)
  }

  /** Aborts once the end is asked for. */
  get signal(): AbortSignal {
    return this.#requested.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#watching
  }

  async #watch({ clock, isRequested }: CancelWatchOptions): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      if (isRequested()) return this.#requested.abort()
      await clock.sleep(EVERY_MS, signal).catch(() => undefined)
    }
  }
}
