import type { Clock } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'

const attempts = 5
const firstWaitMs = 500
const longestWaitMs = 15_000

/** Where the waits between attempts come from. */
export interface RepeatPorts {
  clock: Clock
  /** 0 to 1; spreads the attempts of those that failed together. */
  random: () => number
}

/** Does it again, a few times and ever later, while it fails with an `ObjectStoreError` that is worth it. */
export async function repeated<T>(
  { clock, random }: RepeatPorts,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      signal?.throwIfAborted()
      return await attempt()
    } catch (error) {
      signal?.throwIfAborted()
      if (failures === attempts || !isObjectStoreError(error) || !error.retryable) throw error
      const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1))
      await clock.sleep(wait * (0.5 + random() / 2), signal)
    }
  }
}
