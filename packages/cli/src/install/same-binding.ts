import { isDeepStrictEqual } from 'node:util'
import type { StoredBinding } from './installed-kinds.ts'

/** Whether two bindings are to the same role. */
export function sameRole(left: StoredBinding['roleRef'], right: StoredBinding['roleRef']): boolean {
  return left?.kind === right?.kind && left?.name === right?.name
}

/**
 * Whether applying a binding changes nothing. The API server then does not ask whether whoever applies it may allow what it allows
 * (kubernetes pkg/registry/rbac/clusterrolebinding/policybased).
 */
export function isAsWanted(present: StoredBinding, wanted: StoredBinding): boolean {
  const labels = Object.entries(wanted.metadata.labels ?? {})
  return (
    sameRole(present.roleRef, wanted.roleRef) &&
    isDeepStrictEqual(accounts(present), accounts(wanted)) &&
    labels.every(([name, value]) => present.metadata.labels?.[name] === value)
  )
}

function accounts({ subjects = [] }: StoredBinding): unknown[] {
  return subjects.map(({ kind, name, namespace }) => ({ kind, name, namespace }))
}
