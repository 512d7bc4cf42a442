import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'

/** A program that ran to its end. */
export interface Measured {
  /** From start to end. */
  wallMs: number
  /** The most memory it ever had resident. */
  peakMiB: number
}

export interface MeasureOptions {
  signal: AbortSignal
  /** Where standard output goes, without passing through this process. */
  outputFile: string
  env?: NodeJS.ProcessEnv
}

/** Runs a program and watches its memory. Throws when it fails. */
export async function measureProcess(command: readonly string[], options: MeasureOptions): Promise<Measured> {
  const [program = '', ...args] = command
  await using output = await open(options.outputFile, 'w')
  const started = performance.now()
  const { signal, env = process.env } = options
  const child = spawn(program, args, { signal, env, stdio: ['ignore', output.fd, 'inherit'] })
  const watched = watchPeak(child)
  const [code] = await once(child, 'exit')
  const wallMs = performance.now() - started
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`)
  return { wallMs, peakMiB: watched.stop() }
}

/** Asks the kernel every few milliseconds for the most the process ever held. */
function watchPeak(child: ChildProcess) {
  let peakMiB = 0
  const timer = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    const kilobytes = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0)
    peakMiB = Math.max(peakMiB, kilobytes / 1024)
  }, 5)
  return {
    stop() {
      clearInterval(timer)
      return peakMiB
    },
  }
}
