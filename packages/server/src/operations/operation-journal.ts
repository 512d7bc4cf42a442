import type { BackupStore } from '../backup-store/backup-store.ts'
import type { JournalOwner } from '../backup-store/bucket-layout.ts'
import type { ItemOperation } from './poll-operations.ts'

export interface JournalOptions {
  store: Pick<BackupStore, 'putSegment'>
  owner: JournalOwner
  signal: AbortSignal
  /**
   * What is done when the bucket does not take an operation. Without this, `add` throws JournalError and the operation is not counted:
   * who began it stops it. With it, `add` tells, and the operation is counted all the same.
   */
  onLost?(error: JournalError): void
}

/** A begun operation could not be noted in the bucket. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
  readonly code = 'OPERATION_NOT_NOTED'
  readonly hint = 'make the bucket writable, and try again'

  constructor(operationId: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(
      `the operation ${operationId} could not be noted in the bucket, where a server that starts after a crash would look for it: ${reason}`,
      { cause },
    )
  }
}

/** Operations that a running backup or restore has begun. */
export interface BegunOperations<Operation> {
  /** In the order in which they began, with those whose note is still on its way. */
  readonly all: readonly Operation[]
  /**
   * Takes an operation that has just begun. Resolves once it is in the bucket, from where the next server can stop it if this one dies.
   * Throws JournalError, or the signal's reason: the operation is then still among `all`, for whoever stops them.
   */
  add(operation: Operation): Promise<void>
}

interface Waiting<Operation> {
  operation: Operation
  resolve(): void
  reject(error: unknown): void
}

/**
 * The operations of one backup or restore while it runs, and their journal in the bucket. The journal has one part for all operations
 * that began while the part before was being stored, so that many workers wait for few puts.
 */
export function createOperationJournal<Operation extends ItemOperation>(
  options: JournalOptions,
): BegunOperations<Operation> {
  const { store, owner, signal, onLost } = options
  const all: Operation[] = []
  let waiting: Waiting<Operation>[] = []
  let segments = 0
  let isStoring = false

  async function storeWaiting(): Promise<void> {
    isStoring = true
    while (waiting.length > 0) {
      const together = waiting
      waiting = []
      await storeTogether(together)
    }
    isStoring = false
  }

  async function storeTogether(together: readonly Waiting<Operation>[]): Promise<void> {
    segments += 1
    const segment = { owner, number: segments }
    const records = together.map(({ operation }) => operation)
    try {
      await store.putSegment(segment, records, signal)
      for (const { resolve } of together) resolve()
    } catch (error) {
      for (const one of together) one.reject(error)
    }
  }

  function lose(operation: Operation, cause: unknown): void {
    signal.throwIfAborted()
    const error = new JournalError(operation.spec.operationID, cause)
    if (onLost === undefined) {
      all.splice(all.indexOf(operation), 1)
      throw error
    }
    onLost(error)
  }

  return {
    all,
    async add(operation) {
      all.push(operation)
      try {
        await new Promise<void>((resolve, reject) => {
          waiting.push({ operation, resolve, reject })
          if (!isStoring) void storeWaiting()
        })
      } catch (cause) {
        lose(operation, cause)
      }
    },
  }
}

/** Operations that are kept in memory alone, for work that no server takes up again. */
export function operationsInMemory<Operation>(): BegunOperations<Operation> {
  const all: Operation[] = []
  return { all, add: async operation => void all.push(operation) }
}

/** What a journal holds; empty when there is none. Throws ObjectStoreError. */
export async function readJournal<Operation extends ItemOperation>(
  store: Pick<BackupStore, 'segments'>,
  owner: JournalOwner,
  signal: AbortSignal,
): Promise<Operation[]> {
  const found: Operation[] = []
  for await (const segment of store.segments(owner, signal)) {
    if (Array.isArray(segment)) found.push(...(segment as Operation[]))
  }
  return found
}
