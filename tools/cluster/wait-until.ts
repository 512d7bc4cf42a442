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

/** Waits up to two minutes until the answer is truthy; throws with what was never seen. */
export async function untilSeen(what: string, ask: () => Promise<unknown>): Promise<void> {
  const failure = () => new Error(`never seen: ${what}`)
  await waitUntil(async () => Boolean(await ask()), { timeoutMs: 120_000, failure })
}
