import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { HookCounter } from '../../hooks/hook-counter.ts'
import { type HookPhase, hooksOf, type PodHook, type SpecHooks } from '../../hooks/pod-hooks.ts'
import { HookError, runHook } from '../../hooks/run-hook.ts'

export interface BlockHooksOptions {
  client: KubeClient
  clock: Clock
  log: Logger
  specHooks: readonly SpecHooks[]
  counter: HookCounter
}

/** How a phase of a pod's hooks went. */
export interface PhaseOutcome {
  /** The hook that keeps the pod out of the backup: it failed, and was to make the backup of the pod fail. */
  fatal: unknown
  /** Something may have happened in the pod that post hooks have to undo. */
  acted: boolean
}

/** Runs the hooks of pods. */
export class BlockHooks {
  readonly #options: BlockHooksOptions

  constructor(options: BlockHooksOptions) {
    this.#options = options
  }

  /** Whether the pod has hooks in that phase. */
  has(pod: ActionItem, phase: HookPhase): boolean {
    return hooksOf(pod, phase, this.#options.specHooks).hooks.length > 0
  }

  /**
   * Runs the hooks of a pod in one phase, in order. The first that fails with `onError: Fail` ends the phase. Failures are
   * logged here, except the fatal one, which is the caller's to tell. Throws only the signal's reason.
   */
  async run(pod: ActionItem, phase: HookPhase, signal?: AbortSignal): Promise<PhaseOutcome> {
    const { specHooks, counter, log } = this.#options
    const { namespace = '', name = '' } = pod.metadata
    const podLog = log.child({ resource: 'pods', namespace, name, hookPhase: phase })
    const { hooks, warnings } = hooksOf(pod, phase, specHooks)
    for (const { message, fields } of warnings) podLog.warn(fields, message)
    for (const hook of hooks) counter.attempted({ namespace, pod: name, hook })
    const outcome: PhaseOutcome = { fatal: undefined, acted: false }
    for (const hook of hooks) {
      const error = await this.#runOne({ namespace, name, hook }, podLog, signal)
      outcome.acted ||= !(error instanceof HookError) || error.mayHaveActed
      if (error === undefined) continue
      counter.failed({ namespace, pod: name, hook })
      if (hook.onError === 'Fail') return { ...outcome, fatal: error }
      podLog.error({ ...fieldsOf(hook), error }, 'A hook failed; the pod is backed up all the same')
    }
    return outcome
  }

  async #runOne(
    target: { namespace: string; name: string; hook: PodHook },
    log: Logger,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const fields = fieldsOf(target.hook)
    log.info(fields, 'Running a hook')
    try {
      const output = await runHook(target, this.#options, signal)
      if (output === undefined) log.info(fields, 'The hook is not run: the pod has ended')
      else log.info({ ...fields, ...output }, 'The hook has run')
      return undefined
    } catch (error) {
      signal?.throwIfAborted()
      return error
    }
  }
}

function fieldsOf({ source, name, command, onError, timeoutMs }: PodHook): Record<string, unknown> {
  return {
    hookSource: source,
    hookName: name,
    hookCommand: command,
    hookOnError: onError ?? '',
    hookTimeoutMs: timeoutMs,
  }
}
