import type { Clock } from '@lateen/kube'

/** Yields once a second until the work has settled; returns its value, or throws what it threw. */
export async function* eachSecondUntil<T>(work: Promise<T>, clock: Clock): AsyncGenerator<void, T> {
  const atEnd = new AbortController()
  const settled = () => atEnd.abort()
  void work.then(settled, settled)
  for (;;) {
    await clock.sleep(1_000, atEnd.signal).catch(() => undefined)
    if (atEnd.signal.aborted) return await work
    yield
  }
}
