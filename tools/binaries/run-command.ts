import { type SpawnOptions, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

/** A program ended with another exit code than 0. */
export class CommandError extends Error {
  readonly code = 'COMMAND_FAILED'
  readonly exitCode: number | null
  readonly stderr: string

  constructor(command: string, result: { exitCode: number | null; stderr: string }) {
    super(`${command} failed (${result.exitCode ?? 'killed'}): ${result.stderr.trim()}`)
    this.name = 'CommandError'
    this.exitCode = result.exitCode
    this.stderr = result.stderr
  }
}

export interface CommandOptions extends SpawnOptions {
  stdin?: string | Uint8Array
  /** Called with each line of standard error as it arrives. */
  onStderrLine?: (line: string) => void
}

/** Runs a program to its end and returns its standard output. Throws CommandError when it fails. */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions = {}) {
  const { stdin, onStderrLine, ...spawnOptions } = options
  const child = spawn(command, [...args], { ...spawnOptions, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  // A program may exit without reading all of its input; its exit code tells what matters.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  if (onStderrLine) onEachLine(child.stderr, onStderrLine)
  const output = Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ])
  const exitCode = await ended
  const [stdout, stderr] = await output
  if (exitCode !== 0) throw new CommandError([command, ...args].join(' '), { exitCode, stderr })
  return stdout
}

function onEachLine(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void) {
  let rest = ''
  stream?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
