import { builtInKind, type KubeObject } from '@lateen/kube'
import type { RestoreExecHook } from './exec-hooks.ts'

/** A pod, as far as those who wait for it look. */
export interface WatchedPod extends KubeObject {
  status?: {
    phase?: string
    containerStatuses?: { name: string; ready?: boolean; state?: { running?: unknown } }[]
  }
}

export const podType = builtInKind<WatchedPod>('Pod')

/** Hooks that have not run yet, in order, by the name of their container. */
export type PendingHooks = ReadonlyMap<string, readonly RestoreExecHook[]>

export type PodStep =
  | { type: 'run'; container: string }
  | { type: 'wait' }
  | { type: 'give-up'; reason: string }
  | { type: 'done' }

/** What to do about the hooks of a pod that looks like this now; undefined: it does not exist. */
export function nextPodStep(pod: WatchedPod | undefined, pending: PendingHooks): PodStep {
  if (pending.size === 0) return { type: 'done' }
  if (pod === undefined) return { type: 'give-up', reason: 'the pod was deleted before' }
  const phase = pod.status?.phase
  if (phase === 'Succeeded' || phase === 'Failed') {
    return { type: 'give-up', reason: `the pod entered phase ${phase} before` }
  }
  const up = [...pending].find(([container, hooks]) => isUp(pod, container, hooks))
  return up === undefined ? { type: 'wait' } : { type: 'run', container: up[0] }
}

/** One hook that waits for readiness makes all of its container wait for it, as with Velero. */
function isUp({ status }: WatchedPod, container: string, hooks: readonly RestoreExecHook[]): boolean {
  const found = status?.containerStatuses?.find(({ name }) => name === container)
  return hooks.some(({ waitForReady }) => waitForReady)
    ? found?.ready === true
    : found?.state?.running !== undefined
}

/** Hooks by container, in order. */
export function byContainer(hooks: readonly RestoreExecHook[]): Map<string, RestoreExecHook[]> {
  return Map.groupBy(hooks, ({ container }) => container)
}

/** How long anyone waits for the pod: undefined when a hook waits without end. */
export function longestWaitMs(hooks: readonly RestoreExecHook[]): number | undefined {
  const waits = hooks.map(({ waitMs }) => waitMs)
  return waits.includes(undefined) ? undefined : Math.max(0, ...waits.map(each => each ?? 0))
}
