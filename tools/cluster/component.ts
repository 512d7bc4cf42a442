import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type ClusterPlan, filesOf } from './cluster-layout.ts'

/** A long-running program of a cluster. */
export interface ComponentPlan {
  name: string
  command: string
  args: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Whether it is started again when it ends by itself, as a container would be. */
  restarts?: boolean
}

const restartAfterMs = 500

// Memory is there, processors are two: Kubernetes collects its garbage at a fifth of its usual rate.
const gogc = '500'

/** A program of a cluster that can be killed and started again. */
export class Component {
  readonly plan: ComponentPlan
  readonly #logFile: string
  readonly #clusterFolder: string
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #wish: 'running' | 'stopped' = 'stopped'

  constructor(plan: ComponentPlan, options: { logFile: string; clusterFolder: string }) {
    this.plan = plan
    this.#logFile = options.logFile
    this.#clusterFolder = options.clusterFolder
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get running(): boolean {
    return this.#child !== undefined
  }

  /**
   * Starts the program; it gets SIGKILL from the kernel when this process dies, however that happens.
   * `LATEEN_CLUSTER` in its environment marks it as belonging to the cluster.
   */
  start(): void {
    this.#wish = 'running'
    if (this.#child) return
    const log = openSync(this.#logFile, 'a')
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', this.plan.command, ...this.plan.args], {
      stdio: ['ignore', log, log],
      env: { GOGC: gogc, ...process.env, ...this.plan.env, LATEEN_CLUSTER: this.#clusterFolder },
    })
    closeSync(log)
    this.#child = child
    this.#ended = new Promise(resolve => {
      const end = () => {
        if (this.#child === child) this.#child = undefined
        resolve()
        if (this.plan.restarts) setTimeout(() => this.#startIfWished(), restartAfterMs)
      }
      child.once('exit', end)
      child.once('error', end)
    })
  }

  #startIfWished(): void {
    if (this.#wish === 'running') this.start()
  }

  /** Kills the program and waits until it is gone. It stays so until it is started. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#wish = 'stopped'
    this.#child?.kill(signal)
    await this.#ended
  }
}

/** A component of a cluster that logs into the cluster's folder. */
export function createComponent(cluster: ClusterPlan, plan: ComponentPlan): Component {
  return new Component(plan, { logFile: filesOf(cluster).log(plan.name), clusterFolder: cluster.folder })
}
