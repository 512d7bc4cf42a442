import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { compiledSources } from '../../tools/test/compiled-sources.ts'

const program = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')

export interface LateenServerOptions {
  kubeconfig: string
  namespace: string
  /** Beyond namespace, metrics and log format. */
  flags?: readonly string[]
  /** All of its environment but PATH, HOME and KUBECONFIG. */
  env?: Readonly<Record<string, string>>
  home: string
}

/** `lateen server` as a user starts it. Disposing ends it as a pod's end does. */
export interface LateenServer extends AsyncDisposable {
  readonly pid: number
  readonly log: readonly { level: string; msg: string; [field: string]: unknown }[]
  /** Ends it, and resolves to its exit code. */
  stop(): Promise<number | null>
}

/** Starts the command and waits until its controllers run. Rejects with what it said when it ends before. */
export async function startLateenServer(options: LateenServerOptions): Promise<LateenServer> {
  const { kubeconfig, namespace, flags = [], env = {}, home } = options
  const log: LateenServer['log'][number][] = []
  const usual = ['--namespace', namespace, '--metrics-address=127.0.0.1:0', '--log-format=json']
  const child = spawn(process.execPath, [program, 'server', ...usual, ...flags], {
    env: { PATH: process.env.PATH ?? '', HOME: home, KUBECONFIG: kubeconfig, ...compiledSources, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'close')
  createInterface({ input: child.stderr }).on('line', line => log.push(parseLine(line)))
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const tail = () => log.map(entry => JSON.stringify(entry)).join('\n')
  await waitUntil(async () => hasEnded() || log.some(({ msg }) => msg === 'controllers started'), {
    timeoutMs: 120_000,
    failure: () => new Error(`lateen server did not start:\n${tail()}`),
  })
  if (hasEnded()) throw new Error(`lateen server ended with ${child.exitCode}:\n${tail()}`)
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    return child.exitCode
  }
  return {
    pid: child.pid ?? 0,
    log,
    stop,
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) await stop()
    },
  }
}

function parseLine(line: string): LateenServer['log'][number] {
  try {
    return JSON.parse(line)
  } catch {
    return { level: 'raw', msg: line }
  }
}
