import { goDurationOf, type HookStatus, type Restore } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { HookCounter } from '../../hooks/hook-counter.ts'
import { type SpecHooks, specHooksOf } from '../../hooks/restore-spec-hooks.ts'
import type { Results } from '../../report/report.ts'
import { RestoreReport } from '../items/restore-report.ts'
import { setAlarm } from './alarm.ts'
import { execHooksOf } from './exec-hooks.ts'
import { PodWatch } from './pod-watch.ts'
import { type HookedPod, runPodHooks } from './run-pod-hooks.ts'
import { createTurns, type Turns } from './turns.ts'

export interface RestoreExecHooksOptions {
  client: KubeClient
  clock: Clock
  log: Logger
  restore: Restore
  /** Commands that run at the same time; others wait for their turn. Any number of pods is waited for. */
  mostCommands?: number
}

/** How the hooks of a restore went. */
export interface HooksOutcome {
  results: Results
  warnings: number
  errors: number
  hookStatus: Required<HookStatus>
}

const defaultMostCommands = 32

/**
 * Runs the commands that a restore has for the pods it creates, while it goes on. Failures are lines of the restore's log and in
 * the outcome. Disposing ends what is left.
 */
export class RestoreExecHooks implements AsyncDisposable {
  readonly #options: RestoreExecHooksOptions
  readonly #specHooks: readonly SpecHooks[]
  readonly #report: RestoreReport
  readonly #counter = new HookCounter()
  readonly #stop = new AbortController()
  /** Of the one who asked for the restore. */
  readonly #outer: AbortSignal
  /** Of everything that runs. */
  readonly #signal: AbortSignal
  readonly #watch: PodWatch
  readonly #turns: Turns
  readonly #running = new Set<Promise<void>>()

  /** Throws InvalidSelectorError for a spec that was not validated. */
  constructor(options: RestoreExecHooksOptions, signal: AbortSignal) {
    this.#options = options
    this.#specHooks = specHooksOf(options.restore.spec)
    this.#report = new RestoreReport(options.log)
    this.#watch = new PodWatch(options)
    this.#turns = createTurns(options.mostCommands ?? defaultMostCommands)
    this.#outer = signal
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
  }

  /** A pod was created: its hooks run as soon as they can. Returns at once. Throws InvalidTextError for a duration in the spec. */
  begin(pod: ActionItem): void {
    const { hooks, warnings } = execHooksOf(pod, this.#specHooks)
    const { namespace = '', name = '' } = pod.metadata
    for (const { message, fields } of warnings) {
      const { error, ...others } = fields
      this.#report.warn({
        place: { namespace },
        error: error instanceof Error ? error : String(error),
        message,
        fields: { resource: 'pods', name, ...others },
      })
    }
    if (hooks.length === 0) return
    for (const hook of hooks) this.#counter.attempted({ namespace, pod: name, hook })
    const run = this.#run({ namespace, name, created: pod, hooks }).finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  /**
   * Waits for all hooks, but no longer than this: those that are left then count as failed. Throws only the reason of the signal that
   * the hooks were made with.
   */
  async finish(timeoutMs: number): Promise<HooksOutcome> {
    const ring = () => {
      this.#stop.abort(new Error(`the restore waits ${goDurationOf(timeoutMs)} for its hooks, and no longer`))
    }
    await using _alarm = setAlarm({ clock: this.#options.clock, ms: timeoutMs, ring })
    await this.#settled()
    this.#outer.throwIfAborted()
    const { results, warnings, errors } = this.#report
    return { results, warnings, errors, hookStatus: this.#counter.status }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the restore has ended'))
    await this.#settled()
    await this.#watch[Symbol.asyncDispose]()
  }

  async #settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  async #run(pod: HookedPod): Promise<void> {
    const { namespace, name } = pod
    const ports = { ...this.#options, watch: this.#watch, inTurn: this.#turns }
    for (const { hook, error } of await runPodHooks(pod, ports, this.#signal)) {
      this.#counter.failed({ namespace, pod: name, hook })
      this.#report.error({
        place: { namespace },
        error,
        message: 'A restore hook failed',
        fields: { resource: 'pods', name, hookName: hook.name, hookSource: hook.source },
      })
    }
  }
}
