import { hasEnded } from './operation-status.ts'
import type { ItemOperation, OperationPorts } from './poll-operations.ts'

/** How many are told to stop at once. */
const atOnce = 16

/**
 * Tells the action of every operation that has not ended to stop, and returns all of them: those as failed, with the given error. An
 * action that does not answer, or refuses, changes nothing. Throws the signal's reason.
 */
export async function cancelOperations<Operation extends ItemOperation>(
  operations: readonly Operation[],
  {
    ports,
    error,
    signal,
  }: { ports: Pick<OperationPorts<Operation>, 'cancel'>; error: string; signal: AbortSignal },
): Promise<Operation[]> {
  const ended = [...operations]
  const left = [...operations.keys()].reverse()
  const cancelOn = async () => {
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const operation = operations[at]
      if (operation === undefined || hasEnded(operation.status)) continue
      await ports.cancel(operation, signal)
      ended[at] = { ...operation, status: { ...operation.status, phase: 'Failed', error } }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, operations.length) }, cancelOn))
  return ended
}

/** Operations by their ids and actions, those that come later in place of earlier ones: what a journal and a file say together. */
export function mergeOperations<Operation extends ItemOperation>(
  ...lists: readonly (readonly Operation[])[]
): Operation[] {
  const known = new Map<string, Operation>()
  for (const operation of lists.flat()) known.set(JSON.stringify(identityOf(operation)), operation)
  return [...known.values()]
}

function identityOf({ spec }: ItemOperation): unknown[] {
  const { operationID, backupItemAction, restoreItemAction, volumeSnapshotLocation } = spec as Record<
    string,
    unknown
  >
  return [operationID, backupItemAction, restoreItemAction, volumeSnapshotLocation]
}
