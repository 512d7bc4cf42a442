import type { Repository, RepositoryWriter } from '../../repository.ts'

/** A writing scope of a repository that lasts until it is released. */
export interface HeldWriter {
  readonly writer: RepositoryWriter
  /** Ends the scope; what was not flushed is given up. */
  release(): Promise<void>
}

/**
 * Opens a writing scope and holds it, for callers whose contract has open and close rather than a callback.
 */
export async function holdWriter(repository: Repository): Promise<HeldWriter> {
  const released = new Error('The writer was released')
  const opened = Promise.withResolvers<RepositoryWriter>()
  const closing = Promise.withResolvers<never>()
  closing.promise.catch(() => {})
  const scope = repository.writing({}, writer => {
    opened.resolve(writer)
    return closing.promise
  })
  scope.catch(opened.reject)
  return {
    writer: await opened.promise,
    async release() {
      closing.reject(released)
      await scope.catch((error: unknown) => {
        if (error !== released) throw error
      })
    },
  }
}
