import {
  type BackupHook,
  type BackupSpec,
  backupHookAnnotationNames,
  durationMilliseconds,
  type HookOnError,
} from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { type Selector, selectorOf } from '../filters/label-selector.ts'
import { createNameFilter } from '../filters/name-filter.ts'
import { type ResolveResource, resourceFilter } from '../filters/resource-names.ts'

/** Before or after the block of a pod is stored. */
export type HookPhase = 'pre' | 'post'

/** A command to run in a pod. */
export interface PodHook {
  source: 'annotation' | 'spec'
  /** The name in the spec; empty for one from annotations. */
  name: string
  phase: HookPhase
  /** Place among the hooks of the same name, so that two of them count as two. */
  index: number
  /** Empty: the first container of the pod. */
  container: string
  command: readonly string[]
  /** Undefined where nobody said; the pod is then backed up although the hook failed, as with Velero. */
  onError: HookOnError | undefined
  timeoutMs: number
}

/** Hooks of a spec and the pods they are for. */
export interface SpecHooks {
  name: string
  pre: readonly BackupHook[]
  post: readonly BackupHook[]
  isFor(pod: ActionItem): boolean
}

/** How long a hook may take when nobody says. */
export const defaultHookTimeoutMs = 30_000

/** The hooks of a backup's spec. Throws InvalidSelectorError. */
export function resolveSpecHooks(hooks: BackupSpec['hooks'], resolve: ResolveResource): SpecHooks[] {
  return (hooks?.resources ?? []).map(entry => {
    const namespaces = createNameFilter({
      includes: entry.includedNamespaces,
      excludes: entry.excludedNamespaces,
    })
    const forPods = resourceFilter(resolve, {
      includes: entry.includedResources,
      excludes: entry.excludedResources,
    }).includes('pods')
    const selector: Selector | undefined = entry.labelSelector ? selectorOf(entry.labelSelector) : undefined
    return {
      name: entry.name,
      pre: entry.pre ?? [],
      post: entry.post ?? [],
      isFor: ({ metadata }) =>
        forPods &&
        namespaces.includes(metadata.namespace ?? '') &&
        (selector === undefined || selector.matches(metadata.labels)),
    }
  })
}

/** Something in an annotation that is not understood. */
export interface HookWarning {
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** The hooks of a pod in one phase, in order. A command in the pod's annotations takes the place of all hooks in the spec. */
export function hooksOf(
  pod: ActionItem,
  phase: HookPhase,
  specHooks: readonly SpecHooks[],
): { hooks: PodHook[]; warnings: HookWarning[] } {
  const annotations = pod.metadata.annotations ?? {}
  const prefixes = phase === 'pre' ? ['pre.', ''] : ['post.']
  const prefix = prefixes.find(each => annotations[`${each}${backupHookAnnotationNames.command}`])
  if (prefix !== undefined) return hookOfAnnotations(annotations, prefix, phase)
  const hooks = specHooks
    .filter(({ isFor }) => isFor(pod))
    .flatMap(({ name, [phase]: entries }) =>
      entries.map((entry, index) => specHook(entry, { name, phase, index })),
    )
  return { hooks, warnings: [] }
}

function specHook({ exec }: BackupHook, place: Pick<PodHook, 'name' | 'phase' | 'index'>): PodHook {
  return {
    ...place,
    source: 'spec',
    container: exec.container ?? '',
    command: exec.command,
    onError: exec.onError,
    timeoutMs: timeoutOf(exec.timeout),
  }
}

function hookOfAnnotations(
  annotations: Readonly<Record<string, string>>,
  prefix: string,
  phase: HookPhase,
): { hooks: PodHook[]; warnings: HookWarning[] } {
  const annotated = (key: keyof typeof backupHookAnnotationNames) =>
    annotations[`${prefix}${backupHookAnnotationNames[key]}`] ?? ''
  const onError = annotated('onError')
  const { timeoutMs, warnings } = annotatedTimeout(annotated('timeout'))
  const hook: PodHook = {
    source: 'annotation',
    name: '',
    phase,
    index: 0,
    container: annotated('container'),
    command: commandOf(annotated('command')),
    onError: onError === 'Fail' || onError === 'Continue' ? onError : undefined,
    timeoutMs,
  }
  return { hooks: [hook], warnings }
}

function annotatedTimeout(text: string): { timeoutMs: number; warnings: HookWarning[] } {
  try {
    return { timeoutMs: timeoutOf(text), warnings: [] }
  } catch (error) {
    const message = 'The timeout in a hook annotation is not understood; 30 seconds are used'
    return { timeoutMs: defaultHookTimeoutMs, warnings: [{ message, fields: { timeout: text, error } }] }
  }
}

/** Node's timers hold no more; a longer one would end at once. */
const longestTimeoutMs = 2 ** 31 - 1

/** Throws InvalidTextError. */
function timeoutOf(text: string | undefined): number {
  const given = durationMilliseconds(text) ?? 0
  return given > 0 ? Math.min(given, longestTimeoutMs) : defaultHookTimeoutMs
}

/** The command of an annotation: a JSON list of strings, else the text as one argument. */
export function commandOf(text: string): string[] {
  if (!text.startsWith('[')) return [text]
  try {
    const parsed: unknown = JSON.parse(text)
    if (Array.isArray(parsed) && parsed.every(part => typeof part === 'string')) return parsed
  } catch {
    // Not JSON: a command that happens to begin with a bracket.
  }
  return [text]
}
