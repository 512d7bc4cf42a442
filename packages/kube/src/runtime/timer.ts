import type { Clock } from '../clock.ts'

/** Calls `ring` once after `ms`, unless disposed before. */
export function startTimer(clock: Clock, ms: number, ring: () => void): Disposable {
  const cancelled = new AbortController()
  clock.sleep(ms, cancelled.signal).then(ring, () => {})
  return { [Symbol.dispose]: () => cancelled.abort() }
}
