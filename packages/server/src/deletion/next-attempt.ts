/** A deletion that does not come to its end is tried again for this long, counted from its request. */
const PATIENCE_MS = 4 * 3_600_000

/** Waits between attempts. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 300_000

export interface FailedAttempts {
  /** At least 1: those that failed. */
  count: number
  /** When the request was made. */
  requestedAt: number
  now: number
  /** From 0 to 1. */
  random: number
}

/** How long to wait after a failed attempt before the next one; undefined when it was the last. */
export function nextAttemptAfter({ count, requestedAt, now, random }: FailedAttempts): number | undefined {
  if (now >= requestedAt + PATIENCE_MS) return undefined
  const step = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 1))
  return Math.round(step * (1 - random / 4))
}
