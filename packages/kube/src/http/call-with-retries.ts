import type { Clock } from '../clock.ts'
import { isUnauthorized, KubeError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { describeSubject, type KubeRequest } from './kube-request.ts'
import { decideRetry, type RetryPolicy } from './retry-policy.ts'

export interface RetryPorts {
  policy: RetryPolicy
  clock: Clock
  random: () => number
  log: Logger
  /** Forgets cached credentials after a 401. */
  invalidateCredentials(): void
}

/**
 * Runs `attempt` until it succeeds, a failure is final, or the policy is exhausted, and throws the last failure.
 * A 401 is tried once more with fresh credentials. Waits end at once when the request's signal is aborted.
 */
export async function callWithRetries<T>(
  request: KubeRequest,
  ports: RetryPorts,
  attempt: (attempt: number) => Promise<T>,
): Promise<T> {
  let unauthorized = false
  const began = ports.clock.now()
  for (let number = 1; ; number++) {
    request.signal?.throwIfAborted()
    try {
      return await attempt(number)
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      request.onFailure?.(error)
      if (isUnauthorized(error) && !unauthorized) {
        unauthorized = true
        ports.invalidateCredentials()
        continue
      }
      const decision = decideRetry(
        { error, attempt: number, repeatable: request.repeatable, elapsedMs: ports.clock.now() - began },
        ports.policy,
        ports.random,
      )
      if (!decision.retry) throw error
      const fields = { code: error.code, status: error.status, attempt: number, afterMs: decision.afterMs }
      ports.log.debug({ request: describeSubject(request.subject), ...fields }, 'Repeating a failed request')
      await ports.clock.sleep(decision.afterMs, request.signal)
    }
  }
}
