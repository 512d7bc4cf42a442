import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BuiltInPlugins,
  noBuiltInPlugins,
} from '../../packages/server/src/plugin-host/built-in-plugins.ts'
import { discoverPrograms } from '../../packages/server/src/plugin-host/discover-programs.ts'
import type { HostLimits } from '../../packages/server/src/plugin-host/host-limits.ts'
import {
  createPluginRegistry,
  type PluginRegistry,
} from '../../packages/server/src/plugin-host/plugin-registry.ts'
import { createProgramLauncher } from '../../packages/server/src/plugin-host/program-launcher.ts'
import { type CollectedEntry, type CollectedLog, collectLog } from './collected-log.ts'

export interface HostOptions {
  /** The plugins folder. */
  folder: string
  /** Default: none. */
  builtIns?: () => BuiltInPlugins
  prefer?: boolean
  limits?: Partial<HostLimits>
  namespace?: string
  features?: readonly string[]
  logLevel?: 'debug' | 'info'
  /** Beside those of this process. */
  env?: Readonly<Record<string, string>>
}

/** A plugin host as a server has it. Disposing ends its programs. */
export interface PluginHost extends AsyncDisposable {
  readonly registry: PluginRegistry
  readonly log: CollectedLog
  /** What it warned of, by file. */
  warning(file: string): CollectedEntry | undefined
  /** Processes of its programs and of theirs that are there, wherever they are. */
  processes(): Promise<number[]>
}

/** Looks for programs in a folder and makes a registry of their plugins. */
export async function openPluginHost(options: HostOptions): Promise<PluginHost> {
  const { folder, namespace = 'velero', features = [], builtIns = () => noBuiltInPlugins } = options
  const log = collectLog()
  const mark = `LATEEN_TEST_HOST=${randomBytes(8).toString('hex')}`
  const env = { ...process.env, ...options.env, LATEEN_TEST_HOST: mark.slice(mark.indexOf('=') + 1) }
  const launcher = await createProgramLauncher({
    ...{ env, namespace, features, logLevel: options.logLevel ?? 'info', limits: options.limits ?? {} },
    pid: process.pid,
    isAlive: () => true,
  })
  const signal = new AbortController().signal
  const programs = await discoverPrograms({ folder, launcher, log, signal })
  const external = { programs, launcher, prefer: options.prefer ?? false }
  return {
    registry: createPluginRegistry({ builtIns, external, features, log }),
    log,
    warning: file => log.entries.find(({ level, fields }) => level === 'warn' && fields.file === file),
    processes: () => processesWith(mark),
    [Symbol.asyncDispose]: () => launcher[Symbol.asyncDispose](),
  }
}

/** Waits until a process that this one started is gone, and this one has heard of it. Its number may be another's by then. */
export async function untilGone(pid: number): Promise<void> {
  for (let round = 0; (await parentOf(pid)) === process.pid; round += 1) {
    if (round > 1200) throw new Error(`process ${pid} stays`)
    await sleep(50)
  }
}

/** Undefined where there is no such process. One that has ended has its parent until that has heard of it. */
async function parentOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name in field 2 may hold spaces and brackets: count from behind it. The parent is field 4.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && Number(fields[1])
}

/** Waits until no process has a variable in its environment, as `NAME=value`. */
export async function untilNoneWith(mark: string): Promise<void> {
  for (let round = 0; ; round += 1) {
    const left = await processesWith(mark)
    if (left.length === 0) return
    if (round > 1200) throw new Error(`processes ${left.join(', ')} stay`)
    await sleep(50)
  }
}

/** Processes of this machine with a variable in their environment, as `NAME=value`, but for this one. */
export async function processesWith(mark: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    if (environment.split('\0').includes(mark)) found.push(Number(name))
  }
  return found
}
