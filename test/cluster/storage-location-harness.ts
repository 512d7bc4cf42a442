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
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** Installs our kinds and makes a namespace for one test file. */
export async function prepareCluster(cluster: Cluster, namespace: string): Promise<void> {
  await installKinds(cluster)
  await cluster.kubectl(['create', 'namespace', namespace])
}

export async function installKinds(cluster: Cluster): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: allKinds.map(crdFor) })
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
  await untilEstablished(cluster, ...allKinds.map(kind => `${kind.plural}.velero.io`))
}

export interface LogEvent {
  level: string
  msg: string
  [field: string]: unknown
}

/** A server that runs as a process of its own. */
export interface RunningServer extends AsyncDisposable {
  readonly log: readonly LogEvent[]
  readonly pid: number
  /** Where metrics, health and downloads are. */
  readonly url: string
  /** Waits for a line of its log with that message. */
  said(message: string): Promise<LogEvent>
  /** Ends it gracefully and returns the exit code. */
  stop(): Promise<number | null>
  /** Ends it without warning. */
  kill(): Promise<void>
  /** Lets it do nothing until it is resumed, and does not tell it. */
  pause(): void
  resume(): void
  /** How many bytes of memory are in use once garbage is gone. */
  memoryInUse(): Promise<number>
  /** Its exit code, once it has one. */
  readonly exited: Promise<number | null>
}

/** Starts a server and waits until its controllers run. */
export async function startServer(options: Partial<ServerOptions>): Promise<RunningServer> {
  const server = launchServer(options)
  await server.said('controllers started')
  return server
}

/** Starts a server, which may be one that stands by, and does not wait. */
export function launchServer(
  options: Partial<ServerOptions>,
  env: Readonly<Record<string, string>> = {},
): RunningServer {
  const { child, log, exited } = spawnServer(options, env)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return {
    log,
    pid: child.pid ?? 0,
    get url() {
      return `http://127.0.0.1:${log.find(({ msg }) => msg === 'serving http')?.port}`
    },
    async said(message) {
      const found = await Promise.race([
        waitUntil(async () => log.find(({ msg }) => msg === message), {
          timeoutMs: 120_000,
          failure: () => new Error(`the server did not say "${message}":\n${describeLog(log)}`),
          everyMs: 20,
        }),
        exited.then(() => undefined),
      ])
      if (found === undefined) throw new Error(`the server ended:\n${describeLog(log)}`)
      return found
    },
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    memoryInUse: () => memoryInUse(child, log),
    exited,
    [Symbol.asyncDispose]: async () => void (child.exitCode === null && (await end('SIGKILL'))),
  }
}

async function memoryInUse(child: ChildProcess, log: readonly LogEvent[]): Promise<number> {
  const known = log.length
  child.kill('SIGUSR2')
  const told = await waitUntil(async () => log.slice(known).find(({ msg }) => msg === 'memory in use'), {
    timeoutMs: 60_000,
    failure: () => new Error('the server does not tell how much memory is in use'),
    everyMs: 20,
  })
  return Number(told.bytes)
}

/** Starts a server that is expected not to get far; resolves with its exit code and everything it printed. */
export async function failedServer(
  options: Partial<ServerOptions>,
): Promise<{ code: number | null; output: string }> {
  const { log, exited } = spawnServer(options)
  const code = await exited
  return { code, output: describeLog(log) }
}

export interface Spawned {
  child: ChildProcess
  log: LogEvent[]
  exited: Promise<number | null>
}

/** Starts a server and waits for nothing. */
export function spawnServer(
  options: Partial<ServerOptions>,
  env: Readonly<Record<string, string>> = {},
): Spawned {
  const script = path.join(import.meta.dirname, 'storage-location-server.ts')
  // Tests put backups into buckets and clusters by hand; those about what is found in buckets turn it on.
  const all = { metricsAddress: '127.0.0.1:0', logFormat: 'json', backupSyncPeriod: 0, ...options }
  const child = spawn(process.execPath, [script, JSON.stringify(all)], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...env },
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
        timeoutMs: 120_000,
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
