import { type Clock, systemClock } from '../../clock/clock.ts'
import { isRepoError } from '../../errors/repo-error.ts'
import { type BlobStorage, dataLength } from '../storage.ts'

/** Where the lines go; a pino logger is one. */
export interface Logger {
  debug(fields: object, message: string): void
}

/** What `logged` needs. */
export interface LoggedOptions {
  readonly log: Logger
  readonly clock?: Pick<Clock, 'now'>
}

/** Tells every operation with its blob, size, duration and outcome at debug level. Errors pass on; whoever ends them logs them. */
export function logged(storage: BlobStorage, { log, clock = systemClock }: LoggedOptions): BlobStorage {
  async function timed<T>(fields: Record<string, unknown>, act: () => Promise<T>): Promise<T> {
    const start = clock.now()
    try {
      const result = await act()
      if (result instanceof Uint8Array) fields.bytes = result.length
      fields.outcome = 'ok'
      return result
    } catch (error) {
      fields.outcome = isRepoError(error) ? error.code : 'error'
      throw error
    } finally {
      log.debug({ ...fields, durationMs: clock.now() - start }, 'blob storage operation')
    }
  }

  return {
    description: storage.description,
    get: (blobId, options) =>
      timed({ operation: 'get', blobId, offset: options?.offset, length: options?.length }, () =>
        storage.get(blobId, options),
      ),
    head: (blobId, options) => timed({ operation: 'head', blobId }, () => storage.head(blobId, options)),
    put: (blobId, data, options) =>
      timed({ operation: 'put', blobId, bytes: dataLength(data) }, () => storage.put(blobId, data, options)),
    retain: (blobId, retention, options) =>
      timed({ operation: 'retain', blobId, until: retention.until }, () =>
        storage.retain(blobId, retention, options),
      ),
    delete: (blobId, options) =>
      timed({ operation: 'delete', blobId }, () => storage.delete(blobId, options)),
    async *list(prefix, options) {
      const start = clock.now()
      let blobs = 0
      let outcome = 'left'
      try {
        for await (const blob of storage.list(prefix, options)) {
          blobs++
          yield blob
        }
        outcome = 'ok'
      } catch (error) {
        outcome = isRepoError(error) ? error.code : 'error'
        throw error
      } finally {
        const durationMs = clock.now() - start
        log.debug({ operation: 'list', prefix, blobs, outcome, durationMs }, 'blob storage operation')
      }
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
