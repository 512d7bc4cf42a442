import { durationMilliseconds, type RestoreHook, restoreExecHookAnnotationNames } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { commandOf, defaultHookTimeoutMs, type HookWarning, type PodHook } from '../../hooks/pod-hooks.ts'
import type { SpecHooks } from '../../hooks/restore-spec-hooks.ts'
import { longestTimerMs } from './alarm.ts'

/** A command to run in a restored pod once its container is up. */
export interface RestoreExecHook extends PodHook {
  phase: 'post'
  /** How long the container may take to be up; undefined: as long as the restore waits. */
  waitMs: number | undefined
  /** The container is up when it is ready, not as soon as it runs. */
  waitForReady: boolean
}

/** The commands of a pod, and what is wrong with them. */
export interface PodExecHooks {
  /** In order; each names a container of the pod. */
  hooks: RestoreExecHook[]
  warnings: HookWarning[]
}

/** The name of hooks from annotations, in logs and results. */
export const annotatedHookName = '<from-annotation>'

interface PodSpec {
  containers?: { name: string }[] | null
}

/**
 * The commands for a restored pod. One in the pod's annotations takes the place of all in the spec. A hook for a container that the
 * pod does not have is left out: it would wait for ever. Throws InvalidTextError for a duration in the spec that cannot be read.
 */
export function execHooksOf(pod: ActionItem, specHooks: readonly SpecHooks[]): PodExecHooks {
  const { spec, metadata } = pod as ActionItem & { spec?: PodSpec }
  const names = (spec?.containers ?? []).map(({ name }) => name)
  const { hooks, warnings } = annotatedHook(metadata.annotations ?? {}) ?? {
    hooks: specExecHooks(pod, specHooks),
    warnings: [],
  }
  const placed = hooks.map(hook => (hook.container === '' ? { ...hook, container: names[0] ?? '' } : hook))
  const missing = placed.filter(({ container }) => !names.includes(container))
  return {
    hooks: placed.filter(({ container }) => names.includes(container)),
    warnings: [...warnings, ...missing.map(hook => missingContainer(hook, names))],
  }
}

function specExecHooks({ metadata }: ActionItem, specHooks: readonly SpecHooks[]): RestoreExecHook[] {
  const { namespace = '', labels } = metadata
  return specHooks
    .filter(({ isFor }) => isFor({ namespace, labels }))
    .flatMap(({ name, hooks }) =>
      hooks.flatMap(({ exec }, index) => (exec ? [specHook(exec, { name, index })] : [])),
    )
}

function specHook(
  exec: NonNullable<RestoreHook['exec']>,
  place: Pick<RestoreExecHook, 'name' | 'index'>,
): RestoreExecHook {
  return {
    ...place,
    source: 'spec',
    phase: 'post',
    container: exec.container ?? '',
    command: exec.command,
    onError: exec.onError,
    timeoutMs: positiveMs(exec.execTimeout) ?? defaultHookTimeoutMs,
    waitMs: positiveMs(exec.waitTimeout),
    waitForReady: exec.waitForReady ?? false,
  }
}

function annotatedHook(annotations: Readonly<Partial<Record<string, string>>>): PodExecHooks | undefined {
  const names = restoreExecHookAnnotationNames
  const command = annotations[names.command]
  if (!command) return undefined
  const onError = annotations[names.onError]
  const warnings: HookWarning[] = []
  const duration = (name: string): number | undefined => {
    try {
      return positiveMs(annotations[name])
    } catch (error) {
      warnings.push({
        message: 'A duration in a hook annotation is not understood and is ignored',
        fields: { annotation: name, error },
      })
      return undefined
    }
  }
  const hook: RestoreExecHook = {
    source: 'annotation',
    name: annotatedHookName,
    phase: 'post',
    index: 0,
    container: annotations[names.container] ?? '',
    command: commandOf(command),
    onError: onError === 'Fail' || onError === 'Continue' ? onError : undefined,
    timeoutMs: duration(names.execTimeout) ?? defaultHookTimeoutMs,
    waitMs: duration(names.waitTimeout),
    waitForReady: flagOf(annotations[names.waitForReady] ?? '', warnings),
  }
  return { hooks: [hook], warnings }
}

/** What Go's `strconv.ParseBool` takes for yes and no. */
const [yes, no] = [/^(?:1|t|T|TRUE|true|True)$/, /^(?:0|f|F|FALSE|false|False)?$/]

function flagOf(text: string, warnings: HookWarning[]): boolean {
  if (yes.test(text)) return true
  if (!no.test(text)) {
    const error = `${JSON.stringify(text)} is neither true nor false`
    warnings.push({
      message: 'A hook annotation is not understood and is ignored',
      fields: { annotation: restoreExecHookAnnotationNames.waitForReady, error },
    })
  }
  return false
}

function missingContainer({ name, container }: RestoreExecHook, names: readonly string[]): HookWarning {
  const error = `the pod has no container ${JSON.stringify(container)}, but ${names.join(', ')}: hook ${name} is not run`
  return {
    message: 'A hook is for a container that the pod does not have',
    fields: { hookName: name, error },
  }
}

/** Throws InvalidTextError. */
function positiveMs(text: string | undefined): number | undefined {
  const given = durationMilliseconds(text) ?? 0
  return given > 0 ? Math.min(given, longestTimerMs) : undefined
}
