import type { Clock } from '@lateen/kube'

export interface ProgressPatchOptions<P> {
  clock: Clock
  /** The shortest time between two patches. */
  everyMs: number
  /** Writes the progress. A failure is left alone: the next one brings it. */
  patch(progress: P, signal: AbortSignal): Promise<unknown>
}

/** Writes progress now and then, however often it is reported. Disposing waits for the patch under way. */
export class ProgressPatches<P> implements AsyncDisposable {
  readonly #options: ProgressPatchOptions<P>
  readonly #ended = new AbortController()
  readonly #writing: Promise<void>
  #latest: P | undefined

  constructor(options: ProgressPatchOptions<P>) {
    this.#options = options
    this.#writing = this.#writeUntilEnded()
  }

  report(progress: P): void {
    this.#latest = progress
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#writing
  }

  async #writeUntilEnded(): Promise<void> {
    const { clock, everyMs, patch } = this.#options
    const { signal } = this.#ended
    for (;;) {
      await clock.sleep(everyMs, signal).catch(() => undefined)
      if (signal.aborted) return
      const progress = this.#latest
      this.#latest = undefined
      if (progress !== undefined) await patch(progress, signal).catch(() => undefined)
    }
  }
}
