import { RepoError, throwIfCancelled } from '../../errors/repo-error.ts'

/** Runs at most so many operations at a time, the others in the order in which they came. */
export type ConcurrencyLimit = <T>(act: () => Promise<T>, signal?: AbortSignal) => Promise<T>

/** Who waits for a turn may give up by the signal and is then rejected with `CANCELLED`. */
export function concurrencyLimit(limit: number): ConcurrencyLimit {
  let running = 0
  const waiting = new Set<() => void>()

  async function turn(signal: AbortSignal | undefined): Promise<void> {
    throwIfCancelled(signal)
    if (running < limit) {
      running++
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => {
      if (waiting.delete(resolve)) {
        reject(
          new RepoError('CANCELLED', { message: 'The wait for a turn was cancelled', cause: signal?.reason }),
        )
      }
    }
    waiting.add(resolve)
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Hands the turn on, so that nobody who comes now overtakes those who wait. */
  function done(): void {
    const [next] = waiting
    if (next === undefined) {
      running--
      return
    }
    waiting.delete(next)
    next()
  }

  return async (act, signal) => {
    await turn(signal)
    try {
      return await act()
    } finally {
      done()
    }
  }
}
