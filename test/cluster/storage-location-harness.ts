import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import {
  allKinds,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type BackupStorageLocationSpec,
  type BackupStorageLocationStatus,
  crdFor,
} from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { ServerOptions } from '@lateen/server'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** Installs our kinds and makes a namespace for one test file. */
export async function prepareCluster(cluster: Cluster, namespace: string): Promise<void> {
  await installKinds(cluster)
  await cluster.kubectl(['create', 'namespace', namespace])
}

export async function installKinds(cluster: Cluster): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: allKinds.map(crdFor) })
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
  const names = allKinds.map(kind => `crd/${kind.plural}.velero.io`)
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names])
}

export interface LogEvent {
  level: string
  msg: string
  [field: string]: unknown
}

/** A server that runs as a process of its own. */
export interface RunningServer extends AsyncDisposable {
  readonly log: readonly LogEvent[]
  /** Where metrics, health and downloads are. */
  readonly url: string
  /** Ends it gracefully and returns the exit code. */
  stop(): Promise<number | null>
  /** Ends it without warning. */
  kill(): Promise<void>
  /** Lets it do nothing until it is resumed, and does not tell it. */
  pause(): void
  resume(): void
  /** Its exit code, once it has one. */
  readonly exited: Promise<number | null>
}

/** Starts a server and waits until its controllers run. */
export async function startServer(options: Partial<ServerOptions>): Promise<RunningServer> {
  const { child, log, exited } = spawnServer(options)
  const started = await Promise.race([
    waitUntil(async () => log.find(({ msg }) => msg === 'controllers started'), {
      timeoutMs: 60_000,
      failure: () => new Error(`the server did not start:\n${describeLog(log)}`),
      everyMs: 20,
    }),
    exited.then(() => undefined),
  ])
  if (started === undefined) throw new Error(`the server ended:\n${describeLog(log)}`)
  const port = log.find(({ msg }) => msg === 'serving http')?.port
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return {
    log,
    url: `http://127.0.0.1:${port}`,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    exited,
    [Symbol.asyncDispose]: async () => void (child.exitCode === null && (await end('SIGKILL'))),
  }
}

/** Starts a server that is expected not to get far; resolves with its exit code and everything it printed. */
export async function failedServer(
  options: Partial<ServerOptions>,
): Promise<{ code: number | null; output: string }> {
  const { log, exited } = spawnServer(options)
  const code = await exited
  return { code, output: describeLog(log) }
}

interface Spawned {
  child: ChildProcess
  log: LogEvent[]
  exited: Promise<number | null>
}

function spawnServer(options: Partial<ServerOptions>): Spawned {
  const script = path.join(import.meta.dirname, 'storage-location-server.ts')
  const all = { metricsAddress: '127.0.0.1:0', logFormat: 'json', ...options }
  const child = spawn(process.execPath, [script, JSON.stringify(all)], {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const log: LogEvent[] = []
  const lines = createInterface({ input: child.stderr })
  lines.on('line', line => log.push(parseLine(line)))
  const exited = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(() => child.exitCode)
  return { child, log, exited }
}

function parseLine(line: string): LogEvent {
  try {
    return JSON.parse(line)
  } catch {
    return { level: 'raw', msg: line }
  }
}

function describeLog(log: readonly LogEvent[]): string {
  return log.map(event => (event.level === 'raw' ? event.msg : JSON.stringify(event))).join('\n')
}

/** The locations of one namespace, as a user handles them. */
export class Locations {
  readonly #resource
  readonly #namespace: string

  constructor(client: KubeClient, namespace: string) {
    this.#resource = client.resource(BackupStorageLocationKind, namespace)
    this.#namespace = namespace
  }

  async create(name: string, spec: BackupStorageLocationSpec): Promise<void> {
    const metadata = { name, namespace: this.#namespace }
    await this.#resource.create({ apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata, spec })
  }

  get(name: string): Promise<BackupStorageLocation> {
    return this.#resource.get(name)
  }

  async patch(name: string, spec: object): Promise<void> {
    await this.#resource.patch(name, { type: 'merge', body: { spec } })
  }

  async delete(name: string): Promise<void> {
    await this.#resource.delete(name)
  }

  /** Waits for a status that the check accepts. */
  async until(
    name: string,
    accepts: (status: BackupStorageLocationStatus, location: BackupStorageLocation) => boolean,
  ): Promise<BackupStorageLocationStatus> {
    let last: BackupStorageLocation | undefined
    return waitUntil(
      async () => {
        last = await this.get(name)
        return last.status !== undefined && accepts(last.status, last) ? last.status : undefined
      },
      {
        timeoutMs: 30_000,
        failure: () => new Error(`${name} stayed at ${JSON.stringify(last?.status)}`),
        everyMs: 50,
      },
    )
  }

  available(name: string): Promise<BackupStorageLocationStatus> {
    return this.until(name, ({ phase }) => phase === 'Available')
  }

  /** Waits for Unavailable with a message that holds all parts. */
  async unavailable(name: string, ...parts: string[]): Promise<string> {
    const status = await this.until(
      name,
      ({ phase, message = '' }) => phase === 'Unavailable' && parts.every(part => message.includes(part)),
    )
    return status.message ?? ''
  }
}
