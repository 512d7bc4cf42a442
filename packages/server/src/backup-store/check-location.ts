import { type BackupStorageLocation, BackupStorageLocationKind, readObject } from '@lateen/api'
import type { Clock } from '@lateen/kube'
import { isObjectStoreError, ObjectStoreError } from '@lateen/plugin'
import { type LocationPorts, openLocation } from './open-location.ts'
import { SecretError } from './read-secret-key.ts'
import { ForeignFoldersError, validateLayout } from './validate-layout.ts'

/** Whether a location can be used, or a sentence that says why not. The same cause gives the same sentence. */
export type LocationVerdict = { available: true } | { available: false; reason: string }

export interface CheckOptions {
  clock: Clock
  /** For everything together. A store that does not answer by then is unavailable. */
  timeoutMs: number
  signal?: AbortSignal
}

/**
 * Opens a location and looks at its top level. Rejects only when the answer is unknown: when the API server fails
 * while secrets are read, or when the signal aborts.
 */
export async function checkLocation(
  location: BackupStorageLocation,
  ports: LocationPorts,
  options: CheckOptions,
): Promise<LocationVerdict> {
  const read = readObject(BackupStorageLocationKind, location)
  if (!read.ok) {
    const problems = read.problems.map(({ path, reason }) => `${path} ${reason}`).join('; ')
    return { available: false, reason: `the object does not fit its schema: ${problems}` }
  }
  try {
    await withinTime(options, signal => lookInto(read.object, ports, signal))
    return { available: true }
  } catch (error) {
    if (isVerdict(error)) return { available: false, reason: error.message }
    throw error
  }
}

async function lookInto(
  location: BackupStorageLocation,
  ports: LocationPorts,
  signal: AbortSignal,
): Promise<void> {
  await using opened = await openLocation(location, ports, signal)
  const { store, bucket, layout } = opened
  await validateLayout({ store, bucket, layout, signal })
}

function isVerdict(error: unknown): error is Error {
  return isObjectStoreError(error) || error instanceof SecretError || error instanceof ForeignFoldersError
}

/** Ends with the time even if the work does not react to its signal. */
async function withinTime<T>(
  { clock, timeoutMs, signal }: CheckOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const finished = new AbortController()
  const limit = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => undefined)
  limit.addEventListener('abort', () => stopped.reject(limit.reason), { once: true })
  clock.sleep(timeoutMs, finished.signal).then(
    () => late.abort(tooLate(timeoutMs)),
    () => undefined,
  )
  try {
    signal?.throwIfAborted()
    return await Promise.race([work(limit), stopped.promise])
  } finally {
    finished.abort()
  }
}

function tooLate(timeoutMs: number): ObjectStoreError {
  return new ObjectStoreError('TIMEOUT', {
    reason: `the object store did not answer within ${timeoutMs / 1000} s`,
    hint: 'Check that it is up, its address in spec.config, and the network and firewalls between the server and it',
  })
}
