import type { CallOptions } from './client.ts'
import type { Clock } from './clock.ts'
import { KubeError } from './errors.ts'
import type { Logger } from './logger.ts'

export interface Patience extends CallOptions {
  clock: Clock
  log: Logger
  /** For how long it is repeated. By default two minutes. */
  patienceMs?: number | undefined
  /** It must not be carried out twice. */
  once?: boolean | undefined
}

const firstWaitMs = 250
const longestWaitMs = 5_000

/**
 * Repeats what the client itself has given up because the server is busy or away, for as long as patience lasts: an API server that is
 * upgraded is away for longer than one call would wait. For requests with which much would be lost. Throws the last failure, and the
 * signal's reason.
 */
export async function patiently<T>(send: () => Promise<T>, patience: Patience): Promise<T> {
  const { clock, log, signal, patienceMs = 120_000, once = false } = patience
  const giveUp = clock.now() + patienceMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof KubeError) || !error.retryable || (once && error.mayHaveActed)) throw error
      const pauseMs = Math.max(waitMs, error.retryAfterMs ?? 0)
      if (clock.now() + pauseMs > giveUp) throw error
      log.debug({ error, pauseMs }, 'Repeating a request that the API server could not serve')
      await clock.sleep(pauseMs, signal)
    }
  }
}
