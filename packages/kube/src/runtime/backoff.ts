/** Exponential waits between repeated failures. */
export interface Backoff {
  /** The wait after the first failure. */
  baseMs: number
  /** No wait is longer. */
  maxMs: number
  /** The share of each wait that is random, 0 to 1; it keeps keys that failed together from returning together. */
  jitter: number
}

/** Suits reconciles: quick first repeats, five minutes at the most. */
export const defaultBackoff: Backoff = { baseMs: 250, maxMs: 300_000, jitter: 0.25 }

/** The wait after the nth failure in a row (n from 1), between `(1 - jitter)` and 1 times the exponential step. */
export function backoffDelay(backoff: Backoff, failures: number, random: () => number): number {
  const step = Math.min(backoff.maxMs, backoff.baseMs * 2 ** (failures - 1))
  return Math.round(step * (1 - backoff.jitter * random()))
}
