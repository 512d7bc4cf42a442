import { type Answer, afterAsking } from './after-asking.ts'
import { hasEnded, type OperationStatus } from './operation-status.ts'

/** An operation of a backup or of a restore. */
export interface ItemOperation {
  spec: { operationID: string }
  status: OperationStatus
}

/** Who is asked about operations. */
export interface OperationPorts<Operation extends ItemOperation> {
  /** Throws the signal's reason, and nothing else. */
  ask(operation: Operation, signal: AbortSignal): Promise<Answer>
  /** Tells the action to stop. What comes of it changes nothing here. Throws the signal's reason, and nothing else. */
  cancel(operation: Operation, signal: AbortSignal): Promise<void>
  /** Milliseconds since 1970. */
  now(): number
}

export interface PollOptions {
  /** How long an operation may take from its creation. */
  timeoutMs: number
  /** How many are asked about at once. */
  atOnce: number
}

/** How all operations stand. */
export interface PolledOperations<Operation> {
  operations: Operation[]
  /** Something is different from before. */
  changed: boolean
  /** Those that have failed just now. */
  failures: { operation: Operation; error: string }[]
  completed: number
  failed: number
  unfinished: number
}

/** Asks about every operation that has not ended, and stops those whose time is over. Throws the signal's reason. */
export async function pollOperations<Operation extends ItemOperation>(
  operations: readonly Operation[],
  ports: OperationPorts<Operation>,
  { timeoutMs, atOnce, signal }: PollOptions & { signal: AbortSignal },
): Promise<PolledOperations<Operation>> {
  const polled: PolledOperations<Operation> = {
    operations: [...operations],
    changed: false,
    failures: [],
    completed: 0,
    failed: 0,
    unfinished: 0,
  }
  const waiting = operations.flatMap((operation, at) => (hasEnded(operation.status) ? [] : [at]))
  let next = 0
  const askOn = async () => {
    for (let at = waiting[next++]; at !== undefined; at = waiting[next++]) {
      const operation = operations[at]
      if (operation === undefined) continue
      const answer = await ports.ask(operation, signal)
      const after = afterAsking({ status: operation.status, answer, now: ports.now(), timeoutMs })
      if (after.timedOut) await ports.cancel(operation, signal)
      const moved = { ...operation, status: after.status }
      polled.operations[at] = moved
      polled.changed ||= !sameStatus(operation.status, after.status)
      if (after.failure !== undefined) polled.failures.push({ operation: moved, error: after.failure })
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, askOn))
  return { ...polled, ...countsOf(polled.operations) }
}

function countsOf(operations: readonly ItemOperation[]): {
  completed: number
  failed: number
  unfinished: number
} {
  const completed = operations.filter(({ status }) => status.phase === 'Completed').length
  const failed = operations.filter(({ status }) => status.phase === 'Failed').length
  return { completed, failed, unfinished: operations.length - completed - failed }
}

function sameStatus(one: OperationStatus, other: OperationStatus): boolean {
  const names = Object.keys({ ...one, ...other }) as (keyof OperationStatus)[]
  return names.every(name => one[name] === other[name])
}
