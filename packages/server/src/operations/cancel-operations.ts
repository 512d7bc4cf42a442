import { cutText, longestTexts } from './cut-text.ts'
import { hasEnded } from './operation-status.ts'
import type { ItemOperation, OperationPorts } from './poll-operations.ts'

/** How many are told to stop at once. */
const atOnce = 16

export interface CancelOptions<Operation extends ItemOperation> {
  ports: Pick<OperationPorts<Operation>, 'cancel' | 'reportUntold'>
  /** What they fail with. */
  error: string
  signal: AbortSignal
}

export interface CancelledOperations<Operation> {
  /** All of them: those that had not ended as failed. */
  operations: Operation[]
  /** The same, but those whose actions were not told are as they were. */
  heard: Operation[]
  /** How many of them their actions were not told of, because nobody answered. Whoever tells them again may be heard. */
  unheard: number
}

/**
 * Tells the action of every operation that has not ended to stop, and returns all of them: those as failed, with the given error. An
 * action that does not answer, or refuses, changes nothing. Throws the signal's reason.
 */
export async function cancelOperations<Operation extends ItemOperation>(
  operations: readonly Operation[],
  options: CancelOptions<Operation>,
): Promise<Operation[]> {
  return (await tellToStop(operations, options)).operations
}

/** Does the same, and counts those that nobody answered for. An action is waited for once. Throws the signal's reason. */
export async function tellToStop<Operation extends ItemOperation>(
  operations: readonly Operation[],
  { ports, error, signal }: CancelOptions<Operation>,
): Promise<CancelledOperations<Operation>> {
  const ended = [...operations]
  const heard = [...operations]
  const left = [...operations.keys()].reverse()
  const failed = { phase: 'Failed', error: cutText(error, longestTexts.error) } as const
  let unheard = 0
  const cancelOn = async () => {
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const operation = operations[at]
      if (operation === undefined || hasEnded(operation.status)) continue
      const answer = await ports.cancel(operation, signal)
      const stopped = { ...operation, status: { ...operation.status, ...failed } }
      ended[at] = stopped
      if (answer === 'unreachable') unheard += 1
      else heard[at] = stopped
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, operations.length) }, cancelOn))
  } finally {
    ports.reportUntold()
  }
  return { operations: ended, heard, unheard }
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
