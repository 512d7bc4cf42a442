import { goDurationOf } from '@lateen/api'
import { textOf } from '@lateen/kube'
import type { RestoreExecHook } from './exec-hooks.ts'

export type RestoreHookErrorCode = 'RESTORE_HOOK_FAILED' | 'RESTORE_HOOK_EXPIRED' | 'RESTORE_HOOK_NOT_RUN'

/** Why a hook of a restore counts as failed. The pod is restored all the same. */
export class RestoreHookError extends Error {
  override readonly name = 'RestoreHookError'
  readonly code: RestoreHookErrorCode
  readonly hint: string

  constructor(code: RestoreHookErrorCode, message: string, details: { hint: string; cause?: unknown }) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}

/** A hook and its pod. */
export interface HookOfPod {
  namespace: string
  pod: string
  hook: RestoreExecHook
}

/** The command was run, or was tried. */
export function hookFailed(of: HookOfPod, cause: unknown): RestoreHookError {
  return new RestoreHookError('RESTORE_HOOK_FAILED', `${named(of)} failed to execute: ${textOf(cause)}`, {
    hint: 'run the command in the container by hand; the pod is restored',
    cause,
  })
}

/** The container came up too late for this hook. */
export function hookExpired(of: HookOfPod, waitedMs: number): RestoreHookError {
  const limit = goDurationOf(of.hook.waitMs ?? 0)
  const message = `${named(of)} expired before executing: its container was up after ${goDurationOf(waitedMs)}, and it waits ${limit}`
  return new RestoreHookError('RESTORE_HOOK_EXPIRED', message, {
    hint: 'give the hook a longer wait timeout, and run the command by hand now',
  })
}

/** The moment to run it never came. */
export function hookNotRun(of: HookOfPod, reason: unknown): RestoreHookError {
  return new RestoreHookError('RESTORE_HOOK_NOT_RUN', `${named(of)} not executed: ${textOf(reason)}`, {
    hint: 'see why the container was not up (kubectl describe pod), and run the command by hand',
    ...(reason instanceof Error && { cause: reason }),
  })
}

function named({ namespace, pod, hook }: HookOfPod): string {
  return `hook ${hook.name} in container ${hook.container} in pod ${namespace}/${pod}`
}
