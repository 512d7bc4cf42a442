/**
 * Says whether this process may still change things. Asked right before each change is sent, in the same turn of the
 * event loop: a process that was stopped and goes on sends nothing that it had only planned.
 */
export interface Fence {
  /** Returns when the change may be sent now. Throws `FencedError` otherwise. */
  check(change: string): void
}

/** Lets everything pass: for who is alone. */
export const noFence: Fence = { check: () => undefined }

/** A change was not sent, because another process may be the one to make changes by now. Repeating cannot help. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
  readonly code = 'FENCED'
  readonly hint =
    'whoever leads now does it; this process ends, and waits for the lease again after its start'

  constructor(change: string, reason: string) {
    super(`did not ${change}: ${reason}`)
  }
}
