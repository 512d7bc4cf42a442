import { type Answer, afterAsking } from './after-asking.ts'
import { hasEnded, type OperationStatus } from './operation-status.ts'

/** An operation of a backup or of a restore. */
export interface ItemOperation {
  spec: { operationID: string }
  status: OperationStatus
}

/** What came of telling an action to stop. After `unreachable`, it may hear it another time. */
export type CancelAnswer = 'told' | 'refused' | 'unreachable'

/** Who is asked about operations. */
export interface OperationPorts<Operation extends ItemOperation> {
  /** Throws the signal's reason, and nothing else. */
  ask(operation: Operation, signal: AbortSignal): Promise<Answer>
  /** Tells the action to stop, unless it was told before and did not answer in time. Throws the signal's reason, and nothing else. */
  cancel(operation: Operation, signal: AbortSignal): Promise<CancelAnswer>
  /** Says in the log, once for each action, of how many operations it could not be told since this was last called. */
  reportUntold(): void
  /** Milliseconds since 1970. */
  now(): number
}

export interface PollOptions {
  /** How long an operation may take from its creation. */
  timeoutMs: number
  /** How many are asked about at once. */
  atOnce: number
  /** Whether the first failure is to be known before all others have been asked about. */
  endAtFailure?: boolean
  /** Where to begin among them, from 0 to 1: not always with those that nobody answers for, so that others are asked about, too. */
  beginAt?: number
}

/** How all operations stand. */
export interface PolledOperations<Operation> extends OperationCounts {
  operations: Operation[]
  /** Something is different from before. */
  changed: boolean
  /** Those that have failed just now. */
  failures: { operation: Operation; error: string }[]
}

export interface OperationCounts {
  completed: number
  failed: number
  unfinished: number
}

/**
 * Asks about every operation that has not ended, and stops those whose time is over. With `endAtFailure`, the first one that has failed
 * ends this at once: the others stay as they were until the next time. Throws the signal's reason.
 */
export async function pollOperations<Operation extends ItemOperation>(
  operations: readonly Operation[],
  ports: OperationPorts<Operation>,
  { timeoutMs, atOnce, endAtFailure = false, beginAt = 0, signal }: PollOptions & { signal: AbortSignal },
): Promise<PolledOperations<Operation>> {
  const polled: PolledOperations<Operation> = {
    operations: [...operations],
    changed: false,
    failures: [],
    completed: 0,
    failed: 0,
    unfinished: 0,
  }
  const unended = [...operations.entries()].filter(([, { status }]) => !hasEnded(status))
  const first = Math.floor(beginAt * unended.length)
  const waiting = [...unended.slice(first), ...unended.slice(0, first)].values()
  const over = new AbortController()
  const asking = AbortSignal.any([signal, over.signal])
  /** Undefined when it was not to be waited for. */
  const ask = (operation: Operation) =>
    ports.ask(operation, asking).catch((error: unknown) => {
      if (signal.aborted || !over.signal.aborted) throw error
    })
  const settle = async (at: number, operation: Operation, answer: Answer) => {
    const after = afterAsking({ status: operation.status, answer, now: ports.now(), timeoutMs })
    if (after.timedOut) await ports.cancel(operation, signal)
    const moved = { ...operation, status: after.status }
    polled.operations[at] = moved
    polled.changed ||= !sameStatus(operation.status, after.status)
    if (after.failure === undefined) return
    polled.failures.push({ operation: moved, error: after.failure })
    if (endAtFailure) over.abort()
  }
  const askOn = async () => {
    // All take from the same.
    for (const [at, operation] of waiting) {
      const answer = await ask(operation)
      if (answer !== undefined) await settle(at, operation, answer)
      if (over.signal.aborted) return
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, operations.length) }, askOn))
  } finally {
    ports.reportUntold()
  }
  return { ...polled, ...countOperations(polled.operations) }
}

/** How many have ended, in which way, and how many have not. */
export function countOperations(operations: readonly ItemOperation[]): OperationCounts {
  const completed = operations.filter(({ status }) => status.phase === 'Completed').length
  const failed = operations.filter(({ status }) => status.phase === 'Failed').length
  return { completed, failed, unfinished: operations.length - completed - failed }
}

/** Whether nothing is different. */
export function sameStatus(one: OperationStatus, other: OperationStatus): boolean {
  const names = Object.keys({ ...one, ...other }) as (keyof OperationStatus)[]
  return names.every(name => one[name] === other[name])
}
