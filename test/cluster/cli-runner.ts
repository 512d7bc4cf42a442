import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { compiledSources } from '../../tools/test/compiled-sources.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')

/** How a program ended and what it said. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly env?: Record<string, string>
}

/** Runs `lateen` as a user would, with this kubeconfig and an empty home folder of its own. */
export type Lateen = (args: readonly string[], options?: RunOptions) => Promise<Ended>

/** Prepares `lateen` for a test file. */
export async function lateenFor(kubeconfig: string): Promise<Lateen> {
  const home = await mkdtemp(path.join(tmpdir(), 'lateen-cli-'))
  after(() => rm(home, { recursive: true }))
  return (args, { stdin = '', env = {} } = {}) =>
    ended(process.execPath, [launcher, ...args], {
      stdin,
      env: {
        PATH: process.env.PATH ?? '',
        TZ: 'UTC',
        HOME: home,
        KUBECONFIG: kubeconfig,
        ...compiledSources,
        ...env,
      },
    })
}

/** Runs a program to its end, whatever its exit code. */
export async function ended(
  file: string,
  args: readonly string[],
  { stdin, env }: { stdin: string; env: Record<string, string> },
): Promise<Ended> {
  const child = spawn(file, args, { env })
  const [stdout, stderr] = [child.stdout, child.stderr].map(stream => stream.setEncoding('utf8').toArray())
  child.stdin.on('error', () => {})
  child.stdin.end(stdin)
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { status, stdout: ((await stdout) ?? []).join(''), stderr: ((await stderr) ?? []).join('') }
}

/** A program that runs. */
export interface Started {
  /** Waits until what it has printed matches. */
  said(pattern: RegExp): Promise<void>
  /** Resolves at its end, whatever its exit code. */
  readonly ended: Promise<Ended>
}

/** Starts a program without input, and does not wait for its end. */
export function started(
  file: string,
  args: readonly string[],
  { env }: { env: Record<string, string> },
): Started {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const told = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', chunk => {
      told[name] += chunk
    })
  }
  return {
    said: pattern => untilSeen(`${pattern} of a program`, async () => pattern.test(told.stdout)),
    ended: once(child, 'close').then(([status]) => ({ status, ...told })),
  }
}
