import type { ItemOutcome } from './item-outcome.ts'
import type { RecordKey } from './restore-record.ts'
import type { RestoreRun } from './restore-run.ts'

/** An item and how it ended. */
export interface EndedItem {
  key: RecordKey
  /** Namespace and name in the backup. */
  source: { namespace: string; name: string }
  outcome: ItemOutcome
}

/** Writes a line to the log, and tells whoever listens. */
export function tellOfItem({ log, ports }: RestoreRun, { key, source, outcome }: EndedItem): void {
  const { groupResource, namespace } = key
  const { action, reason, createdName, note, desired, live } = outcome
  const name = createdName ?? key.name
  log.info({ resource: groupResource, namespace, name, action, reason }, 'An item is done')
  ports.onItem?.({ item: { ...key, name, action, reason, note }, source, desired, live })
}
