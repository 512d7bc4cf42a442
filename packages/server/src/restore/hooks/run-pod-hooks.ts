import { goDurationOf } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import { runHook } from '../../hooks/run-hook.ts'
import { setAlarm } from './alarm.ts'
import type { RestoreExecHook } from './exec-hooks.ts'
import { byContainer, longestWaitMs, nextPodStep, type WatchedPod } from './next-pod-step.ts'
import type { CreatedPod, PodWatch } from './pod-watch.ts'
import { hookExpired, hookFailed, hookNotRun, type RestoreHookError } from './restore-hook-error.ts'

/** A restored pod and its hooks. */
export interface HookedPod {
  namespace: string
  name: string
  /** As it was created. */
  created: CreatedPod
  hooks: readonly RestoreExecHook[]
}

export interface PodHooksPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  watch: PodWatch
  /** Runs a command when there is room for it. Throws the signal's reason, and what the command throws. */
  inTurn<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** A hook that failed or could not be run. */
export interface HookFailure {
  hook: RestoreExecHook
  error: RestoreHookError
}

/** The hooks of one pod under way. */
interface PodWork extends PodHooksPorts {
  pod: HookedPod
  pending: Map<string, RestoreExecHook[]>
  failures: HookFailure[]
  startedAt: number
}

/**
 * Waits for the containers of a pod and runs their hooks as they come up, one after another. Returns those that failed, among them
 * the ones that could not be run: the pod ended or was deleted, nobody waits longer, a hook with `onError: Fail` failed before, or
 * the signal was aborted. Never throws.
 */
export async function runPodHooks(
  pod: HookedPod,
  ports: PodHooksPorts,
  signal: AbortSignal,
): Promise<HookFailure[]> {
  const pending = byContainer(pod.hooks)
  const work: PodWork = { ...ports, pod, pending, failures: [], startedAt: ports.clock.now() }
  const reason = await runAsContainersComeUp(work, signal)
  const left = [...pending.values()].flat()
  return [...work.failures, ...left.map(hook => ({ hook, error: hookNotRun(of(pod, hook), reason) }))]
}

/** Returns why hooks are left, if some are. */
async function runAsContainersComeUp(work: PodWork, signal: AbortSignal): Promise<unknown> {
  const { clock, pod } = work
  const late = new AbortController()
  const ms = longestWaitMs(pod.hooks)
  await using _alarm = setAlarm({ clock, ms, ring: () => late.abort(waitedEnough(ms ?? 0)) })
  const over = AbortSignal.any([signal, late.signal])
  try {
    for await (const seen of work.watch.states(pod.created, over)) {
      const ended = await runWhatIsDue(seen, work, signal)
      if (ended !== undefined) return ended.reason
    }
    return undefined
  } catch (error) {
    return over.aborted ? over.reason : error
  }
}

function waitedEnough(ms: number): Error {
  return new Error(`the container was not up within ${goDurationOf(ms)}`)
}

async function runWhatIsDue(
  seen: WatchedPod | undefined,
  work: PodWork,
  signal: AbortSignal,
): Promise<{ reason?: string } | undefined> {
  for (;;) {
    const step = nextPodStep(seen, work.pending)
    switch (step.type) {
      case 'run': {
        const fatal = await runHooksIn(step.container, work, signal)
        if (fatal !== undefined) return { reason: `hook ${fatal.name} failed, and its onError is Fail` }
        break
      }
      case 'wait':
        return undefined
      case 'give-up':
        return { reason: step.reason }
      case 'done':
        return {}
    }
  }
}

/** Returns the hook that ends all hooks of the pod, if one failed that does. Throws the signal's reason between hooks. */
async function runHooksIn(
  container: string,
  work: PodWork,
  signal: AbortSignal,
): Promise<RestoreExecHook | undefined> {
  const { clock, pending, failures, startedAt } = work
  const waitedMs = clock.now() - startedAt
  const hooks = pending.get(container) ?? []
  for (let hook = hooks.shift(); hook !== undefined; hook = hooks.shift()) {
    const error = await runOne(hook, { work, waitedMs }, signal)
    if (error !== undefined) failures.push({ hook, error })
    if (error !== undefined && hook.onError === 'Fail') return hook
    signal.throwIfAborted()
  }
  pending.delete(container)
  return undefined
}

async function runOne(
  hook: RestoreExecHook,
  { work, waitedMs }: { work: PodWork; waitedMs: number },
  signal: AbortSignal,
): Promise<RestoreHookError | undefined> {
  const { pod, client, clock, log } = work
  if (hook.waitMs !== undefined && waitedMs > hook.waitMs) return hookExpired(of(pod, hook), waitedMs)
  const { namespace, name } = pod
  const fields = { resource: 'pods', namespace, name, hookName: hook.name, hookSource: hook.source }
  log.info({ ...fields, hookCommand: hook.command }, 'Running a restore hook')
  try {
    const run = () => runHook({ namespace, name, hook }, { client, clock }, signal)
    const output = await work.inTurn(run, signal)
    if (output === undefined) return hookNotRun(of(pod, hook), 'the pod has ended')
    log.info({ ...fields, ...output }, 'The restore hook has run')
    return undefined
  } catch (error) {
    return hookFailed(of(pod, hook), error)
  }
}

function of({ namespace, name }: HookedPod, hook: RestoreExecHook) {
  return { namespace, pod: name, hook }
}
