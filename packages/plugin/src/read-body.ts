import type { ObjectBody } from './object-store.ts'
import { ObjectStoreError } from './object-store-error.ts'

/**
 * The chunks of a body, checked and cancellable: the empty ones left out, a failure of its source as ABORTED
 * with the cause, an abort as the signal's reason even while the source is silent. The source is always closed.
 */
export async function* readBody(body: ObjectBody, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted()
  if (body instanceof Uint8Array) {
    if (body.byteLength > 0) yield body
    return
  }
  const source = body[Symbol.asyncIterator]()
  let waiting = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      waiting = true
      const next = await untilAbort(nextOf(source), signal)
      waiting = false
      if (next.done === true) return
      if (next.value.byteLength > 0) yield next.value
    }
  } finally {
    const closing = close(source)
    // A source that is stuck in a read cannot close before that read ends, so nobody waits for it.
    if (!waiting) await closing
  }
}

async function nextOf(source: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array, unknown>> {
  try {
    return await source.next()
  } catch (cause) {
    throw new ObjectStoreError('ABORTED', {
      reason: `the bytes to store could not be read: ${String(cause)}`,
      cause,
    })
  }
}

async function close(source: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    await source.return?.()
  } catch {
    // The put has its own outcome by now; a source that fails while closing does not change it.
  }
}

/** Not a race against one long-lived promise: that would hold every chunk until the end. */
function untilAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    const settle = () => signal.removeEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(settle)
  })
}
