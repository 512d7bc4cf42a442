import {
  cancelledByRequest,
  formatTime,
  isCancelRequested,
  type Restore,
  type RestoreStatus,
} from '@lateen/api'
import { cancelMoves } from '../volumes/cancel-moves.ts'
import { leftoversAnnotation } from './fail-interrupted.ts'
import { type MoveScope, moveRestore, patchRestore } from './move-restore.ts'
import { type StopOperationsScope, stopRestoreOperations } from './stop-restore-operations.ts'

export interface InterruptedRestoreScope extends MoveScope, StopOperationsScope {}

/** Velero's own words, which people search for. */
const interrupted = 'found a restore with status "InProgress" during the server starting, mark it as "Failed"'

/**
 * Ends a restore whose server died: stops the operations that it had begun, then says Failed. What cannot be stopped now, because the
 * bucket does not answer, is left to `stopLeftovers`.
 */
export async function failInterruptedRestore(
  restore: Restore,
  scope: InterruptedRestoreScope,
): Promise<void> {
  const failureReason = isCancelRequested(restore) ? cancelledByRequest : interrupted
  const { client, log, signal } = scope
  const { uid = '', namespace = '' } = restore.metadata
  await cancelMoves({ of: 'restore', uid }, { client, log, signal, namespace })
  const counts = await stopOrRemember(restore, failureReason, scope)
  const completionTimestamp = formatTime(scope.clock.now())
  await moveRestore(restore, { phase: 'Failed', failureReason, completionTimestamp, ...counts }, scope)
}

/** Stops the operations of a restore that failed before it could. Throws what the API server and the object store throw. */
export async function stopLeftovers(restore: Restore, scope: InterruptedRestoreScope): Promise<void> {
  await stopRestoreOperations(restore, restore.status?.failureReason ?? interrupted, scope)
  await annotate(restore, null, scope)
}

async function stopOrRemember(
  restore: Restore,
  reason: string,
  scope: InterruptedRestoreScope,
): Promise<RestoreStatus> {
  try {
    const stopped = await stopRestoreOperations(restore, reason, scope)
    if (stopped === undefined) return {}
    const { operations, completed, failed } = stopped
    return {
      restoreItemOperationsAttempted: operations.length,
      ...(completed > 0 && { restoreItemOperationsCompleted: completed }),
      ...(failed > 0 && { restoreItemOperationsFailed: failed }),
    }
  } catch (error) {
    scope.signal.throwIfAborted()
    const { name } = restore.metadata
    scope.log.warn({ error, restore: name }, 'what an interrupted restore had begun could not be stopped yet')
    await annotate(restore, 'true', scope)
    return {}
  }
}

async function annotate(
  restore: Restore,
  value: 'true' | null,
  scope: InterruptedRestoreScope,
): Promise<void> {
  const body = { metadata: { annotations: { [leftoversAnnotation]: value } } }
  await patchRestore(restore, { type: 'merge', body }, scope)
}
