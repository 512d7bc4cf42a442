import type { KubeError } from '../errors.ts'

/** How often and how patiently a request is repeated. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  attempts: number
  /** The first wait; each later one is twice as long. */
  baseMs: number
  /** No wait of our own choosing is longer. A server's Retry-After may be, up to `maxRetryAfterMs`. */
  capMs: number
  maxRetryAfterMs: number
  /** A request that has been tried for longer is not repeated. Absent: only the number of attempts counts. */
  patienceMs?: number
}

/** Waits of 11 to 23 seconds in all: most API servers that restart are back by then. */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 8,
  baseMs: 200,
  capMs: 10_000,
  maxRetryAfterMs: 60_000,
}

export interface FailedAttempt {
  error: KubeError
  /** 1 for the first. */
  attempt: number
  /** Sending the request twice has the effect of sending it once. */
  repeatable: boolean
  /** Since the first attempt began. */
  elapsedMs: number
}

export type RetryDecision = { retry: false } | { retry: true; afterMs: number }

/**
 * Whether to send a failed request again, and when. Requests that are not repeatable (creates, JSON patches,
 * deletes without a uid) go out again only when the server surely did nothing: no connection was made, or it
 * answered 429, 503 with Retry-After, or that it is not ready yet.
 */
export function decideRetry(failed: FailedAttempt, policy: RetryPolicy, random: () => number): RetryDecision {
  const { error, attempt, repeatable } = failed
  if (!error.retryable || attempt >= policy.attempts) return { retry: false }
  if (policy.patienceMs !== undefined && failed.elapsedMs >= policy.patienceMs) return { retry: false }
  if (error.mayHaveActed && !repeatable) return { retry: false }
  const backoff = backoffMs(attempt, policy, random)
  if (error.retryAfterMs === undefined) return { retry: true, afterMs: backoff }
  if (error.retryAfterMs > policy.maxRetryAfterMs) return { retry: false }
  return { retry: true, afterMs: error.retryAfterMs + backoff }
}

/** Exponential with equal jitter: between half and all of base * 2^(attempt - 1), at most the cap. */
export function backoffMs(
  attempt: number,
  policy: Pick<RetryPolicy, 'baseMs' | 'capMs'>,
  random: () => number,
): number {
  const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(attempt - 1, 30))
  return ceiling / 2 + (ceiling / 2) * random()
}
