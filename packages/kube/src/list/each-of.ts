/**
 * The elements of batches one by one. Written by hand because every generator an element passes through costs it
 * several turns of the microtask queue, which for long lists is more than decoding them. Ends as the batches do,
 * or with the signal's reason as soon as that is aborted.
 */
export function eachOf<T>(
  batches: AsyncGenerator<T[], void, undefined>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<T, void, undefined> {
  let batch: T[] = []
  let at = 0

  async function nextBatch(): Promise<IteratorResult<T, void>> {
    const next = await batches.next()
    if (next.done === true) return { done: true, value: undefined }
    batch = next.value
    at = 0
    return take()
  }

  function take(): Promise<IteratorResult<T, void>> {
    if (at === batch.length) return nextBatch()
    return Promise.resolve({ done: false, value: batch[at++] as T })
  }

  async function stop(): Promise<IteratorResult<T, void>> {
    batch = []
    at = 0
    await batches.return()
    return { done: true, value: undefined }
  }

  async function abort(reason: unknown): Promise<never> {
    await stop()
    throw reason
  }

  return {
    next: () => (signal?.aborted ? abort(signal.reason) : take()),
    return: stop,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
