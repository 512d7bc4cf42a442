import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '../../clock/clock.ts'
import { isRepoError, type RepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import type { BlobId, BlobStorage } from '../storage.ts'

/** How often and how soon to try again; what is not given is as in Kopia. */
export interface RetryingOptions {
  /** Tries of one operation, the first included: 10. */
  readonly attempts?: number | undefined
  /** Before the second try: 100. */
  readonly firstDelayMs?: number | undefined
  /** Each wait to the one before: 1.5. */
  readonly factor?: number | undefined
  /** The longest wait: 32,000. */
  readonly maxDelayMs?: number | undefined
  readonly clock?: Pick<Clock, 'sleep'> | undefined
  /** From 0 to 1, for the part of each wait that is left to chance. */
  readonly random?: (() => number) | undefined
  /** Called before each wait. */
  readonly onRetry?: ((retry: Retry) => void) | undefined
}

/** A try that failed and will be repeated. */
export interface Retry {
  readonly attempt: number
  readonly delayMs: number
  readonly error: RepoError
}

/**
 * Repeats what failed with a retryable error: a blob that is not there, a bad range, a read-only or full storage are told at
 * once. Every operation may be repeated safely: `put` replaces, `delete` of what is gone is success. A listing that breaks
 * starts over and leaves out what it has given already. Gives up with the last error.
 */
export function retrying(storage: BlobStorage, options: RetryingOptions = {}): BlobStorage {
  const again = <T>(act: () => Promise<T>, signal: AbortSignal | undefined) => retried(act, options, signal)
  return {
    description: storage.description,
    get: (id, getOptions) => again(() => storage.get(id, getOptions), getOptions?.signal),
    head: (id, headOptions) => again(() => storage.head(id, headOptions), headOptions?.signal),
    put: (id, data, putOptions) => again(() => storage.put(id, data, putOptions), putOptions?.signal),
    retain: (id, retention, retainOptions) =>
      again(() => storage.retain(id, retention, retainOptions), retainOptions?.signal),
    delete: (id, deleteOptions) => again(() => storage.delete(id, deleteOptions), deleteOptions?.signal),
    async *list(prefix, listOptions = {}) {
      const given = new Set<BlobId>()
      const failed = startTries(options, listOptions.signal)
      for (;;) {
        try {
          for await (const blob of storage.list(prefix, listOptions)) {
            if (given.has(blob.id)) continue
            given.add(blob.id)
            yield blob
          }
          return
        } catch (error) {
          await failed(error)
        }
      }
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

/** Repeats anything else that fails with a retryable error, such as opening a storage. Rejects with the last error. */
export function retried<T>(
  act: () => Promise<T>,
  options: RetryingOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  return repeated(act, startTries(options, signal))
}

function chance(): number {
  return randomInt(2 ** 32) / 2 ** 32
}

/** Settles when it is time for the next try, rejects with the error when there is none. */
type Tries = (error: unknown) => Promise<void>

function startTries(options: RetryingOptions, signal: AbortSignal | undefined): Tries {
  const { attempts = 10, factor = 1.5, maxDelayMs = 32_000, clock = systemClock } = options
  const { random = chance, onRetry } = options
  let delay = options.firstDelayMs ?? 100
  let attempt = 0
  return async error => {
    attempt++
    if (!(isRepoError(error) && error.retryable) || attempt >= attempts) throw error
    throwIfCancelled(signal)
    // Half of the wait is left to chance, so that many who failed together do not come back together.
    const delayMs = delay * (0.5 + random() / 2)
    delay = Math.min(delay * factor, maxDelayMs)
    onRetry?.({ attempt, delayMs, error })
    await clock.sleep(delayMs, signal)
  }
}

async function repeated<T>(act: () => Promise<T>, failed: Tries): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      await failed(error)
    }
  }
}
