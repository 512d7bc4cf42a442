import { durationMilliseconds, type Restore } from '@lateen/api'
import type { JournalOwner } from '../backup-store/bucket-layout.ts'
import { cancelOperations } from '../operations/cancel-operations.ts'
import { type OperationPorts, pollOperations } from '../operations/poll-operations.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { RestoreReport } from './items/restore-report.ts'

/** How many operations of a restore are asked about at once. */
export const askedAtOnce = 16

/** How the operations of a restore stand. */
export interface SettledOperations {
  readonly operations: readonly RestoreOperation[]
  readonly completed: number
  readonly failed: number
  readonly unfinished: number
}

export interface SettleScope {
  restore: Restore
  ports: OperationPorts<RestoreOperation>
  report: RestoreReport
}

/** Where the journal of a restore is. */
export function journalOwnerOf({ metadata, spec }: Restore): JournalOwner {
  return { of: 'restore', name: metadata.name ?? '', backup: spec.backupName ?? '' }
}

/** Of restores that say nothing, which those that were begun here do. Velero's default. */
const usualTimeoutMs = 4 * 3_600_000

/** How long each operation of a restore may take. */
export function operationTimeoutOf({ spec }: Restore): number {
  return durationMilliseconds(spec.itemOperationTimeout) || usualTimeoutMs
}

/** Asks about every operation once, when all else is restored. Those that have failed are errors of the restore. Throws the signal's reason. */
export async function settleOperations(
  begun: readonly RestoreOperation[],
  { restore, ports, report }: SettleScope,
  signal: AbortSignal,
): Promise<SettledOperations> {
  const timeoutMs = operationTimeoutOf(restore)
  const polled = await pollOperations(begun, ports, { timeoutMs, atOnce: askedAtOnce, signal })
  for (const { operation } of polled.failures) {
    report.error({ place: 'restore', error: failureText(operation), message: 'An operation failed' })
  }
  return polled
}

/** Stops the operations of a restore that broke off. Throws the signal's reason. */
export async function stopOperations(
  begun: readonly RestoreOperation[],
  { ports, error }: { ports: SettleScope['ports']; error: string },
  signal: AbortSignal,
): Promise<SettledOperations> {
  const operations = await cancelOperations(begun, { ports, error, signal })
  const failed = operations.filter(({ status }) => status.phase === 'Failed').length
  return { operations, failed, completed: operations.length - failed, unfinished: 0 }
}

/** What the results say of an operation that has failed. The same for the same failure, whoever tells of it. */
export function failureText({ spec, status }: RestoreOperation): string {
  const { Group, Resource, Namespace, Name } = spec.resourceIdentifier
  const type = Group === '' ? Resource : `${Resource}.${Group}`
  const what = Namespace === '' ? `${type} ${Name}` : `${type} ${Namespace}/${Name}`
  return `error from restore item operation: ${status.error ?? ''} (operation ${spec.operationID} of ${spec.restoreItemAction} for ${what})`
}
