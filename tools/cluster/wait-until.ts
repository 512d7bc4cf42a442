import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks again and again until the answer is neither undefined nor false, and returns it. Throws what `failure`
 * makes after `timeoutMs`.
 */
export async function waitUntil<T>(
  ask: () => Promise<T | undefined | false>,
  options: { timeoutMs: number; failure: () => Error | Promise<Error>; everyMs?: number },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > deadline) throw await options.failure()
    await sleep(options.everyMs ?? 100)
  }
}
