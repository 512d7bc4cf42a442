import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { cacheFolder } from '../binaries/cache-folder.ts'
import { tools } from '../binaries/tool.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { waitUntil } from '../cluster/wait-until.ts'

export interface VeleroServerOptions {
  cluster: Pick<Cluster, 'kubeconfigPath' | 's3'>
  /** Where its objects live; the namespace and the kinds of Velero exist. */
  namespace: string
  /** Beyond those that a process on this machine needs. */
  flags?: readonly string[]
  /** Plugin programs beside the one for S3. */
  plugins?: readonly string[]
  /** More of its environment. Its own actions run in a process that knows the cluster by `KUBECONFIG` only. */
  env?: Readonly<Record<string, string>>
}

/** A real `velero server` with velero-plugin-for-aws. */
export interface VeleroServer extends AsyncDisposable {
  readonly pid: number
  /** What it has logged so far. */
  readonly log: readonly string[]
  stop(): Promise<void>
}

/** Another server of this machine may have to end first. */
const START_MS = 600_000
const STOP_MS = 30_000

/**
 * Starts a Velero server as a process of this machine and waits until its controllers run. One of its ports is fixed, so only one
 * runs at a time: whoever starts another waits until the first has stopped. Throws ToolError where there is no Velero.
 */
export async function startVeleroServer(options: VeleroServerOptions): Promise<VeleroServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-velero-server-'))
  try {
    const child = await spawnServer(folder, options)
    const log = collectLog(child)
    const stop = async () => {
      await end(child)
      await rm(folder, { recursive: true, force: true })
    }
    try {
      await started(child, log)
    } catch (error) {
      await stop()
      throw error
    }
    return { pid: child.pid ?? 0, log, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function spawnServer(
  folder: string,
  { cluster, namespace, flags = [], plugins = [], env: more = {} }: VeleroServerOptions,
): Promise<ChildProcess> {
  const programs = await tools(['velero', 'velero-plugin-for-aws'])
  const at = (name: string) => path.join(folder, name)
  for (const name of ['plugins', 'home', 'tmp']) await mkdir(at(name))
  for (const program of [programs['velero-plugin-for-aws'], ...plugins]) {
    await copyFile(program, path.join(at('plugins'), path.basename(program)), constants.COPYFILE_FICLONE)
  }
  const { accessKeyId, secretAccessKey } = cluster.s3
  const keys = `aws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`
  await writeFile(at('credentials'), `[default]\n${keys}`)
  await mkdir(cacheFolder(), { recursive: true })
  const command = [
    ...['--no-fork', path.join(cacheFolder(), 'velero-server.lock'), programs.velero, 'server'],
    ...['--namespace', namespace, '--kubeconfig', cluster.kubeconfigPath, '--plugin-dir', at('plugins')],
    ...['--metrics-address', '127.0.0.1:0', '--profiler-address', '127.0.0.1:0'],
    ...flags,
  ]
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: at('home'),
    TMPDIR: at('tmp'),
    VELERO_NAMESPACE: namespace,
    VELERO_SCRATCH_DIR: at('tmp'),
    AWS_SHARED_CREDENTIALS_FILE: at('credentials'),
    // It ends with its cluster, and its plugins with it, where whoever started it was killed: they hold the lock.
    LATEEN_CLUSTER: path.dirname(cluster.kubeconfigPath),
    ...more,
  }
  // A group of its own, so that its plugins end with it.
  return spawn('flock', command, { detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

function collectLog(child: ChildProcess): string[] {
  const log: string[] = []
  for (const input of [child.stdout, child.stderr]) {
    if (input) createInterface({ input }).on('line', line => log.push(line))
  }
  return log
}

async function started(child: ChildProcess, log: readonly string[]): Promise<void> {
  const tail = () => log.slice(-20).join('\n')
  const isRunning = () => log.some(line => /"Starting workers" controller=backup /.test(line))
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  await waitUntil(async () => isRunning() || hasEnded(), {
    timeoutMs: START_MS,
    failure: () => new Error(`velero server did not start:\n${tail()}`),
  })
  if (!isRunning()) throw new Error(`velero server ended with ${child.exitCode}:\n${tail()}`)
}

async function end(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(late)
  }
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
