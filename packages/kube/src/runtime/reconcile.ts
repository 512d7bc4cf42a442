import type { Logger } from '../logger.ts'

/**
 * How a reconcile ends when it does not throw. Throwing is the third outcome: a `TerminalError` is not retried,
 * anything else is retried with the key's backoff.
 */
export type Outcome = { type: 'done' } | { type: 'again'; afterMs: number }

/** The object is as it should be; nothing happens until the next event. */
export function done(): Outcome {
  return { type: 'done' }
}

/** Look again after a planned wait. An event that comes earlier replaces the wait. */
export function again({ afterMs }: { afterMs: number }): Outcome {
  return { type: 'again', afterMs }
}

/** What a reconcile receives besides its key. */
export interface ReconcileContext {
  /** Aborts on the reconcile's timeout, on lost leadership, and when a graceful stop runs out of time. */
  signal: AbortSignal
  /** Carries the controller's name and the key. */
  log: Logger
  /** Failures of this key since its last success; 0 on the first try. */
  failures: number
}

/** Brings one object, named by its key, closer to its desired state. Must honour `context.signal`. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Outcome>

/** Repeating cannot help: the object must change first. Thrown from a reconcile, it is logged and not retried. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
  readonly code: string
  readonly hint: string | undefined

  constructor(message: string, details: { code?: string; hint?: string; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = details.code ?? 'TERMINAL'
    this.hint = details.hint
  }
}
