import type { Clock } from '../../clock/clock.ts'

/** A rate that many share. */
export interface TokenBucket {
  /** Waits until the amount may be used; those who come first are served first. Rejects with `CANCELLED`. */
  take(amount: number, signal?: AbortSignal): Promise<void>
  /** Notes what was used without having been taken; who takes next waits for it. */
  charge(amount: number): void
}

/**
 * A bucket that holds one second's worth. An amount larger than that is granted and leaves a debt, so that the rate
 * holds on average for any size.
 */
export function tokenBucket(perSecond: number, clock: Clock): TokenBucket {
  let tokens = perSecond
  let filledAt = clock.now()

  function refill(): void {
    const now = clock.now()
    // A clock that was set back fills nothing, and one that jumped ahead fills the bucket at most.
    tokens = Math.min(perSecond, tokens + (Math.max(0, now - filledAt) * perSecond) / 1000)
    filledAt = now
  }

  return {
    async take(amount, signal) {
      refill()
      const waitMs = tokens >= 0 ? 0 : (-tokens / perSecond) * 1000
      tokens -= amount
      if (waitMs === 0) return
      try {
        await clock.sleep(waitMs, signal)
      } catch (error) {
        tokens += amount
        throw error
      }
    },
    charge(amount) {
      refill()
      tokens -= amount
    },
  }
}
