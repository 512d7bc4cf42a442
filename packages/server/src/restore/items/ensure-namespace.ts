import { groupResource } from '../../item/item.ts'
import { reasons } from './item-outcome.ts'
import { type MappedNamespace, namespaceFailure } from './namespaces.ts'
import type { RestoreRun } from './restore-run.ts'
import { tellOfItem } from './tell-of-item.ts'
import { throwIfOver } from './throw-if-over.ts'

const namespaces = groupResource({ group: '', plural: 'namespaces' })

/**
 * Makes sure of a namespace and records it if it had to be created. False when it cannot be written to, which is told once, however
 * many items want to be in it. Throws the signal's reason.
 */
export async function ensureNamespace(
  run: RestoreRun,
  namespace: MappedNamespace,
  signal: AbortSignal,
): Promise<boolean> {
  const { source, target } = namespace
  const first = !run.namespaces.isKnown(target)
  const key = { apiVersion: 'v1', kind: 'Namespace', groupResource: namespaces, namespace: '', name: target }
  const origin = { namespace: '', name: source }
  try {
    const { created, note } = await run.namespaces.ensure(namespace, signal)
    if (!first) return true
    if (created === undefined) {
      tellOfItem(run, {
        key,
        source: origin,
        outcome: { action: 'skipped', reason: reasons.namespaceExists, exists: true },
      })
      return true
    }
    const outcome = { action: 'created', reason: reasons.created, exists: true, note } as const
    run.record.end(run.record.begin(key).entry, outcome)
    tellOfItem(run, { key, source: origin, outcome: { ...outcome, desired: created } })
    return true
  } catch (cause) {
    throwIfOver(cause, signal)
    if (!first) return false
    const error = namespaceFailure(cause, target)
    run.report.error({
      place: 'restore',
      error,
      message: 'A namespace cannot be restored to',
      fields: { name: target },
    })
    const outcome = { action: 'failed', reason: error.message, exists: false } as const
    tellOfItem(run, { key, source: origin, outcome })
    return false
  }
}
