/** Runs something when its turn has come. Throws what it throws, and the signal's reason if it aborts before. */
export type Turns = <T>(run: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** Lets at most so many run at the same time, in the order in which they came. */
export function createTurns(most: number): Turns {
  let running = 0
  const waiting: (() => void)[] = []

  async function turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (running < most) {
      running += 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        waiting.splice(waiting.indexOf(begin), 1)
        reject(signal.reason)
      }
      waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  return async (run, signal) => {
    await turn(signal)
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
