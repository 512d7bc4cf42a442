import type { HookStatus } from '@lateen/api'
import type { PodHook } from './pod-hooks.ts'

/** A hook of a pod. */
export interface CountedHook {
  namespace: string
  pod: string
  hook: PodHook
}

/** Counts hooks for `status.hookStatus`: each hook of each pod once. */
export class HookCounter {
  readonly #attempted = new Set<string>()
  readonly #failed = new Set<string>()

  /** The hook was due; also one that was not run because another before it failed. */
  attempted(hook: CountedHook): void {
    this.#attempted.add(keyOf(hook))
  }

  failed(hook: CountedHook): void {
    this.#failed.add(keyOf(hook))
  }

  get status(): Required<HookStatus> {
    return { hooksAttempted: this.#attempted.size, hooksFailed: this.#failed.size }
  }
}

function keyOf({ namespace, pod, hook }: CountedHook): string {
  return JSON.stringify([namespace, pod, hook.phase, hook.source, hook.name, hook.container, hook.index])
}
