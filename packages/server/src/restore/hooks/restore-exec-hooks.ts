import { goDurationOf, type HookStatus, type Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { HookCounter } from '../../hooks/hook-counter.ts'
import { type SpecHooks, specHooksOf } from '../../hooks/restore-spec-hooks.ts'
import type { Results } from '../../report/report.ts'
import { RestoreReport } from '../items/restore-report.ts'
import { setAlarm } from './alarm.ts'
import { execHooksOf } from './exec-hooks.ts'
import { type HookedPod, type PodHooksPorts, runPodHooks } from './run-pod-hooks.ts'

export interface RestoreExecHooksOptions extends PodHooksPorts {
  restore: Restore
  /** Pods that are watched at the same time; others wait for their turn, and their wait timeouts begin with it. */
  mostPods?: number
}

/** How the hooks of a restore went. */
export interface HooksOutcome {
  results: Results
  warnings: number
  errors: number
  hookStatus: Required<HookStatus>
}

const defaultMostPods = 200

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
  readonly #waiting: HookedPod[] = []
  readonly #running = new Set<Promise<void>>()

  /** Throws InvalidSelectorError for a spec that was not validated. */
  constructor(options: RestoreExecHooksOptions, signal: AbortSignal) {
    this.#options = options
    this.#specHooks = specHooksOf(options.restore.spec)
    this.#report = new RestoreReport(options.log)
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
    this.#waiting.push({ namespace, name, hooks })
    this.#startMore()
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
  }

  async #settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #startMore(): void {
    const most = this.#options.mostPods ?? defaultMostPods
    while (this.#running.size < most) {
      const pod = this.#waiting.shift()
      if (pod === undefined) return
      const run = this.#run(pod).finally(() => {
        this.#running.delete(run)
        this.#startMore()
      })
      this.#running.add(run)
    }
  }

  async #run(pod: HookedPod): Promise<void> {
    const { namespace, name } = pod
    for (const { hook, error } of await runPodHooks(pod, this.#options, this.#signal)) {
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
