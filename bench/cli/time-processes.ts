import { spawnSync } from 'node:child_process'
import { setImmediate as breathe } from 'node:timers/promises'

export interface TimingOptions {
  rounds: number
  env: NodeJS.ProcessEnv
  signal: AbortSignal
}

/**
 * Milliseconds that each command takes as a whole process, once a round. In each round the first becomes the last, so that none always
 * follows the same other. One unmeasured round comes before. Throws when a command fails.
 */
export async function timeProcesses<Name extends string>(
  commands: Readonly<Record<Name, readonly string[]>>,
  { rounds, env, signal }: TimingOptions,
): Promise<Record<Name, number[]>> {
  const order = Object.keys(commands) as Name[]
  const times = Object.fromEntries(order.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = -1; round < rounds; round += 1) {
    for (const name of order) {
      await breathe()
      signal.throwIfAborted()
      const took = timeProcess(commands[name], env)
      if (round >= 0) times[name].push(took)
    }
    order.push(...order.splice(0, 1))
  }
  return times
}

/** Nothing else runs in this process meanwhile. */
function timeProcess([program = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): number {
  const started = performance.now()
  const { status, stderr, error } = spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const took = performance.now() - started
  if (status !== 0)
    throw error ?? new Error(`${[program, ...args].join(' ')} ended with ${status}: ${stderr}`)
  return took
}

/** The middle one, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
