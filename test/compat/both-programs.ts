import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import { tool } from '../../tools/binaries/tool.ts'
import { ToolError } from '../../tools/binaries/tool-error.ts'
import type { Given } from '../../tools/cluster/testing.ts'
import { compiledSources } from '../../tools/test/compiled-sources.ts'
import { freePort } from '../../tools/test/free-port.ts'
import { type Ended, ended, type Started, started } from '../cluster/cli-runner.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')

export type Program = 'lateen' | 'velero'

/** The real `velero` and `lateen` at one cluster, with a home folder of their own. */
export interface BothPrograms {
  /** Why the tests cannot run; else false. */
  readonly skip: false | string
  /** The home folder, gone after the test file. */
  readonly folder: string
  /** Runs a program to its end, whatever its exit code. */
  end(program: Program, args: readonly string[], env?: Record<string, string>): Promise<Ended>
  /** Starts a program and does not wait for its end. */
  start(program: Program, args: readonly string[]): Started
  /** Runs a program that must succeed, and returns what it printed. */
  run(program: Program, args: readonly string[], env?: Record<string, string>): Promise<string>
  /** Starts `lateen server`. Disposing stops it, and fails if it did not end well. */
  startServer(args: readonly string[]): AsyncDisposable
  /** Makes a namespace with a folder of its name as bucket, and starts a server that hands out what is in it. */
  startPlace(namespace: string, disabledControllers?: readonly string[]): Promise<AsyncDisposable>
}

/** Prepares both programs for a test file. */
export async function bothPrograms(given: Given): Promise<BothPrograms> {
  const velero = await tool('velero').catch((error: unknown) => {
    if (error instanceof ToolError) return error
    throw error
  })
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-both-'))
  after(() => rm(folder, { recursive: true }))
  const environment = (more: Record<string, string> = {}) => ({
    PATH: process.env.PATH ?? '',
    HOME: folder,
    TZ: 'UTC',
    KUBECONFIG: given.cluster.kubeconfigPath,
    ...compiledSources,
    ...more,
  })
  const commandOf = (program: Program, args: readonly string[]): [string, string[]] =>
    program === 'lateen' ? [process.execPath, [launcher, ...args]] : [String(velero), [...args]]
  const end: BothPrograms['end'] = (program, args, env) =>
    ended(...commandOf(program, args), { stdin: '', env: environment(env) })
  const start: BothPrograms['start'] = (program, args) =>
    started(...commandOf(program, args), { env: environment() })
  const run: BothPrograms['run'] = async (program, args, env) => {
    const { status, stdout, stderr } = await end(program, args, env)
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const startServer: BothPrograms['startServer'] = args => {
    const server = spawn(process.execPath, [launcher, 'server', ...args], {
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return stopping(server)
  }
  return {
    skip: given.skip || (velero instanceof ToolError && velero.message),
    folder,
    end,
    start,
    run,
    startServer,
    startPlace: (namespace, disabled = []) =>
      startPlace({ namespace, folder, disabled }, { given, run, startServer }),
  }
}

interface Place {
  namespace: string
  folder: string
  disabled: readonly string[]
}

async function startPlace(
  { namespace, folder, disabled }: Place,
  { given, run, startServer }: Pick<BothPrograms, 'run' | 'startServer'> & { given: Given },
): Promise<AsyncDisposable> {
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  await given.cluster.kubectl(['create', 'namespace', namespace])
  await mkdir(path.join(folder, namespace), { recursive: true })
  await run('lateen', [
    ...['-n', namespace, 'backup-location', 'create', 'files', '--default', '--provider=filesystem'],
    ...[`--bucket=${namespace}`, `--config=path=${folder}`],
  ])
  const server = startServer([
    ...['-n', namespace, `--metrics-address=${address}`, `--download-url-base=http://${address}`],
    `--disable-controllers=${disabled.join()}`,
  ])
  // A backup that comes before its location was looked at fails validation, as with Velero.
  await given.cluster.kubectl([
    ...['wait', 'backupstoragelocation/files', '-n', namespace, '--timeout=60s'],
    '--for=jsonpath={.status.phase}=Available',
  ])
  return server
}

function stopping(server: ChildProcess): AsyncDisposable {
  let log = ''
  server.stderr?.on('data', chunk => {
    log += chunk
  })
  const stopped = once(server, 'exit')
  return {
    async [Symbol.asyncDispose]() {
      server.kill('SIGTERM')
      assert.deepEqual(await stopped, [0, null], log)
    },
  }
}
