import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { RepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import { resticError } from './restic-error.ts'
import {
  type ResticRepository,
  type ResticSettings,
  resticEnvironment,
  resticGlobalArguments,
} from './restic-repository.ts'

/** One restic command. */
export interface ResticCall {
  readonly command: string
  readonly args?: readonly string[]
  /** The folder it runs in. */
  readonly cwd?: string
  readonly signal?: AbortSignal | undefined
  /** Exit codes that are the caller's to judge, besides 0. */
  readonly accept?: readonly number[]
  /** Called with each line of stdout as it comes; without it the lines are collected. */
  readonly onLine?: (line: string) => void
}

/** What a restic command left behind. */
export interface ResticResult {
  readonly exitCode: number
  /** Empty when the caller took the lines. */
  readonly stdout: string
  /** The end of it. */
  readonly stderr: string
}

type ResticProcess = ChildProcessByStdio<null, Readable, Readable>

const MAX_STDOUT = 64 * 1024 * 1024
const MAX_LINE = 1024 * 1024
const KEPT_STDERR = 16 * 1024

/** Runs restic commands on one repository. */
export type RunRestic = (call: ResticCall) => Promise<ResticResult>

/**
 * Binds restic to a repository. A call throws what `resticError` makes of a failure, `CANCELLED` when its
 * signal is aborted, which interrupts the process and kills it when it does not end, and `TOOL_FAILED` when
 * restic cannot be started.
 */
export function resticRunner(settings: ResticSettings, repo: ResticRepository): RunRestic {
  return async call => {
    throwIfCancelled(call.signal)
    const child = spawn(
      settings.binary,
      [call.command, ...resticGlobalArguments(settings, repo), ...(call.args ?? [])],
      { cwd: call.cwd, env: resticEnvironment(settings, repo), stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const stopWatching = endOnAbort(child, call.signal, settings.graceMs ?? 10_000)
    try {
      const [{ exitCode, signal }, stdout, stderr] = await Promise.all([
        exitOf(child, settings.binary),
        readLines(child, call.onLine),
        readTail(child.stderr),
      ])
      throwIfCancelled(call.signal)
      if (exitCode !== 0 && !call.accept?.includes(exitCode ?? -1)) {
        throw resticError({ command: call.command, repository: repo.repository, exitCode, signal, stderr })
      }
      return { exitCode: exitCode ?? -1, stdout, stderr }
    } finally {
      stopWatching()
    }
  }
}

function endOnAbort(child: ResticProcess, signal: AbortSignal | undefined, graceMs: number): () => void {
  let timer: NodeJS.Timeout | undefined
  const end = () => {
    child.kill('SIGINT')
    timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  }
  signal?.addEventListener('abort', end, { once: true })
  return () => {
    signal?.removeEventListener('abort', end)
    clearTimeout(timer)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  }
}

interface Exit {
  exitCode: number | null
  signal: string | null
}

function exitOf(child: ResticProcess, binary: string): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal }))
    child.once('error', cause => {
      reject(
        new RepoError('TOOL_FAILED', {
          message: `restic could not be started from ${binary}: ${cause.message}`,
          hint: 'install restic, and check that the folder to run it in exists',
          cause,
        }),
      )
    })
  })
}

async function readLines(child: ResticProcess, onLine: ResticCall['onLine']): Promise<string> {
  const collected: string[] = []
  let [size, rest] = [0, '']
  const take = onLine ?? (line => collected.push(line))
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    size += onLine === undefined ? String(chunk).length : 0
    if (rest.length > MAX_LINE || size > MAX_STDOUT) {
      throw new RepoError('TOOL_FAILED', {
        message: 'restic printed more than can be taken in',
        hint: 'is this program restic?',
      })
    }
    for (const line of lines) take(line)
  }
  if (rest !== '') take(rest)
  return collected.join('\n')
}

async function readTail(stream: Readable): Promise<string> {
  let tail = ''
  for await (const chunk of stream.setEncoding('utf8')) tail = (tail + String(chunk)).slice(-KEPT_STDERR)
  return tail
}
