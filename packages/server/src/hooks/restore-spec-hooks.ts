import type { RestoreHook, RestoreSpec } from '@lateen/api'
import { type Labels, selectorOf } from '../filters/label-selector.ts'
import { createNameFilter } from '../filters/name-filter.ts'

/** What hooks choose pods by. */
export interface PodPlace {
  /** Where the pod is restored to, also while it still has its old namespace. */
  namespace: string
  labels: Labels | undefined
}

/** Hooks of a restore's spec and the pods they are for. */
export interface SpecHooks {
  name: string
  hooks: readonly RestoreHook[]
  isFor(pod: PodPlace): boolean
}

/**
 * The hooks of a restore's spec. Lists of resources in them mean nothing, as with Velero: the hooks of restores are for pods.
 * Throws InvalidSelectorError.
 */
export function specHooksOf({ hooks }: RestoreSpec): SpecHooks[] {
  return (hooks?.resources ?? []).map(entry => {
    const namespaces = createNameFilter({
      includes: entry.includedNamespaces,
      excludes: entry.excludedNamespaces,
    })
    const selector = entry.labelSelector ? selectorOf(entry.labelSelector) : undefined
    return {
      name: entry.name,
      hooks: entry.postHooks ?? [],
      isFor: ({ namespace, labels }) =>
        namespaces.includes(namespace) && (selector === undefined || selector.matches(labels)),
    }
  })
}
