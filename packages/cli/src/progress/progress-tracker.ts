import type { Progress } from '../output/progress.ts'

/** The rate is that of the last this many milliseconds. */
const WINDOW_MS = 15_000

/** Counts of items at one moment. */
export interface Counts {
  readonly phase: string
  readonly done: number
  readonly total: number
  readonly queuePosition?: number | undefined
  readonly current?: string | undefined
}

/** Works out rate and time left from counts as they are seen. Times are milliseconds since the epoch. */
export class ProgressTracker {
  readonly #startedAt: number
  #samples: { at: number; done: number }[] = []

  constructor(now: number) {
    this.#startedAt = now
  }

  /** The progress at this moment. */
  seen(counts: Counts, now: number): Progress {
    this.#samples.push({ at: now, done: counts.done })
    const old = this.#samples.findLastIndex(sample => sample.at <= now - WINDOW_MS)
    this.#samples.splice(0, Math.max(0, old))
    const [first] = this.#samples
    const seconds = first === undefined ? 0 : (now - first.at) / 1000
    const gained = first === undefined ? 0 : counts.done - first.done
    const perSecond = seconds > 0 && gained > 0 ? gained / seconds : undefined
    const left = Math.max(0, counts.total - counts.done)
    return {
      ...counts,
      elapsedMs: now - this.#startedAt,
      perSecond,
      leftMs: perSecond === undefined ? undefined : (left / perSecond) * 1000,
    }
  }
}
