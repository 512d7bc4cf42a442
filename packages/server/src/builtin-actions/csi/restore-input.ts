import type { Restore } from '@lateen/api'
import type { BackedUpObjects, RestoreActionInput } from '@lateen/plugin'

/** The other objects of the backup, which actions in the server are given. */
export function backedUpOf({ backedUp }: RestoreActionInput): BackedUpObjects {
  if (backedUp === undefined) throw new TypeError('this action needs the other objects of the backup')
  return backedUp
}

/** Where objects of a namespace go. */
export function targetNamespace({ spec }: Restore, namespace: string): string {
  const mapping = spec.namespaceMapping ?? {}
  return (Object.hasOwn(mapping, namespace) ? mapping[namespace] : undefined) ?? namespace
}
