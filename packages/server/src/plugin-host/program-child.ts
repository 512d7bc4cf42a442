import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from '@lateen/kube'
import { type Handshake, PluginError, parseHandshake } from '@lateen/plugin'
import { foreignProgram, programProblem } from './executable-format.ts'
import { LineSplitter } from './line-splitter.ts'
import { PluginLogReader } from './plugin-log-line.ts'

export interface ChildOptions {
  /** The full path of the program. */
  file: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Where its lines go; it names the program. */
  log: Logger
}

/** How a process ended. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** What is kept of the lines that are no log entries, to tell why a program did not start: at its beginning and at its end. */
const FIRST_LINES = 6
const LAST_LINES = 3
const KEPT_CHARACTERS = 300
const LONGEST_HANDSHAKE = 4096

/** Of the end of a process and that of its output, the later one comes so soon, unless others hold the output or this process is starved. */
const BOTH_ENDS_MS = 5_000

/** In so many turns of the event loop comes far more than a pipe holds: what is read then was written since. */
const MOST_TURNS = 100

/**
 * A process of a program, in a group of its own, whose output is read for as long as it lives. It counts as gone when the process itself
 * is, even if others that it started still hold its output.
 */
export class ProgramChild {
  readonly exited: Promise<Exit>
  readonly #child: Spawned
  readonly #outputEnded: Promise<unknown>
  readonly #firstLine: Promise<string | undefined>
  readonly #said: string[] = []
  #exit: Exit | undefined
  /** Pieces of its log so far. */
  #pieces = 0

  private constructor(child: Spawned, log: Logger) {
    this.#child = child
    this.exited = new Promise(resolve => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal }
        // What it started goes with it.
        this.kill()
        resolve(this.#exit)
      })
    })
    this.#outputEnded = new Promise(resolve => child.once('close', resolve))
    this.#firstLine = firstLineOf(child.stdout, log)
    this.#readLog(log)
  }

  /** Starts a program. Rejects with UNAVAILABLE when the system does not start it. */
  static async start({ file, args, env, log }: ChildOptions): Promise<ProgramChild> {
    await requireProgram(file)
    const child = spawned({ file, args, env })
    if (child.pid === undefined) {
      const [cause] = await once(child, 'error')
      throw cannotStart(file, cause)
    }
    child.on('error', error => log.warn({ error }, 'a plugin program cannot be signalled'))
    return new ProgramChild(child, log)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** How it ended, once it has. */
  get exit(): Exit | undefined {
    return this.#exit
  }

  /** Its first and last lines that are no log entries, for messages. */
  get #words(): string {
    return this.#said.join(' | ')
  }

  /** Where it listens. Rejects with BAD_HANDSHAKE or UNAVAILABLE when it prints something else, nothing, or ends. */
  async handshake(timeoutMs: number, signal: AbortSignal): Promise<Handshake> {
    const done = new AbortController()
    const over = AbortSignal.any([signal, done.signal])
    const silent = async () => {
      await after(timeoutMs, undefined, { signal: over })
      throw this.#failed(`it did not print where it listens within ${timeoutMs / 1000} s`)
    }
    const gone = async () => {
      const exit = await this.exited
      // What it printed before it ended may still be on its way.
      await Promise.race([this.#outputEnded, after(BOTH_ENDS_MS, undefined, { signal: over })])
      throw this.#failed(`it ended with ${exitText(exit)} before it printed where it listens`)
    }
    const stillborn = [silent(), gone()]
    for (const each of stillborn) each.catch(() => {})
    try {
      const line = await Promise.race([this.#firstLine, ...stillborn])
      if (line !== undefined) return parseHandshake(line)
      // A program that ends closes its output, too; how it ended says more.
      await Promise.race([this.exited, after(BOTH_ENDS_MS, undefined, { signal: over })])
      if (this.#exit !== undefined) await gone()
      throw this.#failed('it closed its output before it printed where it listens')
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      done.abort()
    }
  }

  /** Ends it and what it started, if they are there. */
  kill(): void {
    const { pid } = this.#child
    // Zero would mean the server's own group.
    if (pid === undefined || pid === 0) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing of it is left.
    }
  }

  /** Whether it is gone after so long. */
  async gone(withinMs: number): Promise<boolean> {
    await within(this.exited, withinMs)
    return this.#exit !== undefined
  }

  /**
   * Resolves when the log that it has written until now was read. What it has written lies in its pipe, and the event loop takes it from
   * there once in every turn: one in which nothing came has found the pipe empty.
   */
  async heard(): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      const known = this.#pieces
      // The first may be in the turn that is under way.
      await nextTurn()
      await nextTurn()
      if (this.#pieces === known) return
    }
  }

  /** Waits for the end of its output, but no longer than that, and lets go of it. */
  async endOutput(withinMs: number): Promise<void> {
    await within(this.#outputEnded, withinMs)
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
  }

  #failed(reason: string): PluginError {
    const words = this.#words
    return new PluginError('UNAVAILABLE', { reason: words === '' ? reason : `${reason}: ${words}` })
  }

  #readLog(log: Logger): void {
    const reader = new PluginLogReader()
    const lines = new LineSplitter(line => {
      if (line.text.trim() === '') return
      const { level, message, fields } = reader.read(line)
      log[level](fields, message)
      if (Object.keys(fields).length > 0) return
      this.#said.push(message.trim().slice(0, KEPT_CHARACTERS))
      if (this.#said.length > FIRST_LINES + LAST_LINES) this.#said.splice(FIRST_LINES, 1)
    })
    const { stderr } = this.#child
    stderr.on('data', (bytes: Buffer) => {
      this.#pieces += 1
      lines.push(bytes)
    })
    stderr.on('end', () => lines.end())
    stderr.on('error', () => {})
  }
}

type Spawned = ChildProcessByStdio<null, Readable, Readable>

function spawned({ file, args, env }: Omit<ChildOptions, 'log'>): Spawned {
  try {
    return spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env, detached: true })
  } catch (cause) {
    throw cannotStart(file, cause)
  }
}

/** Resolves with the promise or after so long, whichever comes first. The time is not kept waiting for. */
async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const done = new AbortController()
  await Promise.race([promise, after(ms, undefined, { signal: done.signal }).catch(() => {})])
  done.abort()
}

/** Undefined where there is none. What comes after the first line is told at debug. */
function firstLineOf(stdout: Readable, log: Logger): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  let first = true
  const lines = new LineSplitter(({ text, cut }) => {
    if (first) resolve(text.slice(0, LONGEST_HANDSHAKE))
    else log.debug({ channel: 'stdout', ...(cut && { cut }) }, text)
    first = false
  })
  stdout.on('data', (bytes: Buffer) => lines.push(bytes))
  stdout.on('end', () => {
    lines.end()
    resolve(undefined)
  })
  stdout.on('error', () => resolve(undefined))
  return promise
}

/** What the system itself cannot run would be given to a shell, line by line, whatever it is. */
async function requireProgram(file: string): Promise<void> {
  const problem = programProblem(await beginningOf(file), process.arch)
  if (problem !== undefined) throw new PluginError('UNAVAILABLE', { reason: problem })
}

async function beginningOf(file: string): Promise<Buffer | undefined> {
  try {
    await using handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256))
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    // It may be run by who cannot read it; the system tells when it cannot be run.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined
    throw cannotStart(file, error)
  }
}

function cannotStart(file: string, cause: unknown): PluginError {
  const { code, message } = cause as NodeJS.ErrnoException
  const reason =
    startProblems[code ?? ''] ?? `the system does not start it: ${message.replace(`spawn ${file} `, '')}`
  return new PluginError('UNAVAILABLE', { reason, cause })
}

const startProblems: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there, or its interpreter or loader is not',
  ENOEXEC: foreignProgram,
  EACCES: 'the system does not allow to run it',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link that leads nowhere',
}

/** `exit code 3`, `signal SIGKILL`. */
export function exitText({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
