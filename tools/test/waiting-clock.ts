import type { Clock } from '@lateen/kube'

/** A clock that goes when somebody waits, and only then. It begins at 0, or at a time of its own. */
export function waitingClock(start = 0): Clock {
  let now = start
  return {
    now: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted()
      now += ms
    },
  }
}
