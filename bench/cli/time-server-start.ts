import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface ServerStart {
  command: readonly string[]
  env: NodeJS.ProcessEnv
  /** In the line that says that it works. */
  sign: string
}

/** Milliseconds from the start of a server until it says that it works; it is stopped then. Throws when it ends before. */
export async function timeServerStart(
  { command, env, sign }: ServerStart,
  signal: AbortSignal,
): Promise<number> {
  const [program = '', ...args] = command
  const started = performance.now()
  const child = spawn(program, args, { env, signal, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  try {
    for await (const line of createInterface({ input: child.stderr })) {
      if (line.includes(sign)) return performance.now() - started
    }
    throw new Error(`${command.join(' ')} ended without saying "${sign}"`)
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
