import { RepoError } from '../errors/repo-error.ts'

/** The promise, or `CANCELLED` as soon as the signal is aborted; what the promise stands for goes on. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const aborted = Promise.withResolvers<never>()
  const abort = () =>
    aborted.reject(new RepoError('CANCELLED', { message: 'The wait was cancelled', cause: signal.reason }))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', abort))
}
