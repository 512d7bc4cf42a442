import { setTimeout as delay } from 'node:timers/promises'
import { RepoError } from '../errors/repo-error.ts'

/** Time comes in by the door: code below the entry points reads it only from here. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after `ms`; rejects with `CANCELLED` as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal })
    } catch (cause) {
      throw new RepoError('CANCELLED', { message: 'The wait was cancelled', cause })
    }
  },
}
