import { spawn } from 'node:child_process'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { type FailedTest, parseFailedTests } from './failed-tests.ts'

export interface RunOptions {
  root: string
  env: NodeJS.ProcessEnv
  /** Files at a time. */
  concurrency: number
  /** For each test. */
  timeoutMinutes: number
  /** Its reason is the signal that the tests are sent. */
  interrupted: AbortSignal
}

/** How `node --test` ended. */
export interface RunResult {
  exitCode: number
  failed: FailedTest[]
}

/** Runs test files by `node --test`, which prints as they go and its summary at the end. */
export async function runFiles(files: string[], options: RunOptions): Promise<RunResult> {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-test-'))
  const failures = path.join(folder.path, 'failures')
  const args = [
    '--test',
    `--import=${path.join(import.meta.dirname, 'end-with-tests.ts')}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${path.join(import.meta.dirname, 'failed-tests.ts')}`,
    `--test-reporter-destination=${failures}`,
    `--test-concurrency=${options.concurrency}`,
    `--test-timeout=${options.timeoutMinutes * 60_000}`,
    ...files,
  ]
  // Hundreds of processes load the same sources: what one has stripped of its types and compiled serves all of this run.
  const env = { NODE_COMPILE_CACHE: path.join(folder.path, 'compiled'), ...options.env }
  const exitCode = await exitCodeOf(args, { ...options, env })
  return { exitCode, failed: parseFailedTests(await readFile(failures, 'utf8').catch(() => '')) }
}

function exitCodeOf(args: string[], { root, env, interrupted }: RunOptions): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
  interrupted.addEventListener('abort', () => child.kill(interrupted.reason as NodeJS.Signals))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : os.constants.signals[signal])),
    )
  })
}
