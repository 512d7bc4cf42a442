import { spawn } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { text } from 'node:stream/consumers'

/** A program that ran to its end. */
export interface Measured {
  /** From start to end. */
  wallMs: number
  /** The most memory it ever had resident. */
  peakMiB: number
  stdout: string
}

export interface MeasureOptions {
  signal: AbortSignal
  /** Standard output goes to this file instead of to `stdout`. */
  outputFile?: string
}

/** Runs a program and watches its memory. Throws when it fails. */
export async function measureProcess(command: readonly string[], options: MeasureOptions): Promise<Measured> {
  const { signal, outputFile } = options
  const [program = '', ...args] = command
  const started = performance.now()
  const file = outputFile === undefined ? undefined : createWriteStream(outputFile)
  const child = spawn(program, args, { signal, stdio: ['ignore', 'pipe', 'inherit'] })
  const output = file === undefined ? text(child.stdout) : finished(child.stdout.pipe(file)).then(() => '')
  let peakMiB = 0
  const watch = setInterval(async () => {
    peakMiB = Math.max(peakMiB, await residentPeakMiB(child.pid ?? 0))
  }, 10)
  try {
    const [code] = await Promise.all([exitOf(child), output])
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`)
    return { wallMs: performance.now() - started, peakMiB, stdout: await output }
  } finally {
    clearInterval(watch)
  }
}
