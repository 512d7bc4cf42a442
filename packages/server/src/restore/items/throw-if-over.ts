import { KubeError } from '@lateen/kube'
import { ScratchError } from '../../scratch/scratch-error.ts'

/**
 * Whether an error is not about one object but ends the restore: it was stopped, the API server is away for longer than anyone
 * waits, or scratch cannot be read. All objects that are left would fail in the same way.
 */
export function isOver(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || error instanceof ScratchError || isAway(error)
}

/** Throws an error that ends the restore, or the signal's reason if it was stopped. */
export function throwIfOver(error: unknown, signal: AbortSignal): void {
  signal.throwIfAborted()
  if (isOver(error, signal)) throw error
}

/** There was no answer at all, and asking again did not help. */
function isAway(error: unknown): boolean {
  return error instanceof KubeError && error.status === undefined && error.retryable
}
