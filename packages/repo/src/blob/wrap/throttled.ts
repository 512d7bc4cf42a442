import { type Clock, systemClock } from '../../clock/clock.ts'
import { type BlobStorage, dataLength, type GetBlobOptions } from '../storage.ts'
import { concurrencyLimit } from './concurrency-limit.ts'
import { type TokenBucket, tokenBucket } from './token-bucket.ts'

/** What a storage may be loaded with; what is not given is not limited. */
export interface ThrottleLimits {
  readonly uploadBytesPerSecond?: number | undefined
  readonly downloadBytesPerSecond?: number | undefined
  readonly concurrentReads?: number | undefined
  readonly concurrentWrites?: number | undefined
}

/**
 * Keeps to the limits; operations wait for their turn. A blob read whole is charged after it came, since its size is not known
 * before: the next reader waits for it.
 */
export function throttled(
  storage: BlobStorage,
  limits: ThrottleLimits,
  clock: Clock = systemClock,
): BlobStorage {
  const bucket = (rate: number | undefined): TokenBucket | undefined =>
    rate === undefined ? undefined : tokenBucket(rate, clock)
  const up = bucket(limits.uploadBytesPerSecond)
  const down = bucket(limits.downloadBytesPerSecond)
  const reading = concurrencyLimit(limits.concurrentReads ?? Number.POSITIVE_INFINITY)
  const writing = concurrencyLimit(limits.concurrentWrites ?? Number.POSITIVE_INFINITY)

  async function download(
    act: () => Promise<Uint8Array>,
    { length, signal }: GetBlobOptions,
  ): Promise<Uint8Array> {
    await down?.take(length ?? 0, signal)
    const bytes = await act()
    if (length === undefined) down?.charge(bytes.length)
    return bytes
  }

  return {
    description: storage.description,
    get: (id, options = {}) =>
      reading(() => download(() => storage.get(id, options), options), options.signal),
    head: (id, options) => reading(() => storage.head(id, options), options?.signal),
    put: (id, data, options) =>
      writing(async () => {
        await up?.take(dataLength(data), options?.signal)
        await storage.put(id, data, options)
      }, options?.signal),
    retain: (id, retention, options) =>
      writing(() => storage.retain(id, retention, options), options?.signal),
    delete: (id, options) => writing(() => storage.delete(id, options), options?.signal),
    list: (prefix, options) => storage.list(prefix, options),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
