import type { Clock } from '@lateen/kube'

/** Node's timers hold no more; a longer one would ring at once. */
export const longestTimerMs = 2 ** 31 - 1

/** When to ring; never without `ms`. */
export interface AlarmOptions {
  clock: Clock
  ms: number | undefined
  ring(): void
}

/** Rings once after a while, unless it is disposed before. */
export function setAlarm({ clock, ms, ring }: AlarmOptions): AsyncDisposable {
  const over = new AbortController()
  const wait = Math.min(Math.max(0, ms ?? 0), longestTimerMs)
  const waiting = ms === undefined ? undefined : clock.sleep(wait, over.signal).then(ring, () => undefined)
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await waiting
    },
  }
}
