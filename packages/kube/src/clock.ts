import { setTimeout as delay } from 'node:timers/promises'

/** Time as the program sees it. Everything that reads the hour or waits takes one of these. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

// Node takes a longer time, some 24 days, for none at all.
const longestTimer = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    const options = signal === undefined ? {} : { signal }
    try {
      let left = ms
      for (; left > longestTimer; left -= longestTimer) await delay(longestTimer, undefined, options)
      await delay(left, undefined, options)
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
}
