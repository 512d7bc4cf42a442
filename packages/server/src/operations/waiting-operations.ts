import { ObjectStoreError } from '@lateen/plugin'
import type { BackupStore, StoredFile } from '../backup-store/backup-store.ts'
import { type ItemOperation, sameStatus } from './poll-operations.ts'

/** Whose operations they are, and the file that has them. */
export interface OperationsOwner {
  uid: string
  of: 'backup' | 'restore'
  name: string
}

interface Remembered<Operation> {
  operations: readonly Operation[]
  /** What the file has. */
  stored: readonly Operation[]
}

/**
 * The operations of backups or restores that wait for theirs. They are read from the bucket once and kept in memory from then on; the
 * file is written again when something is different from what it has. Everything throws ObjectStoreError, or the signal's reason.
 */
export class WaitingOperations<Operation extends ItemOperation> {
  readonly #remembered = new Map<string, Remembered<Operation>>()

  /** Throws STORE_FAULT when the file is not there or damaged. */
  async load(owner: OperationsOwner, store: BackupStore, signal: AbortSignal): Promise<readonly Operation[]> {
    const known = this.#remembered.get(owner.uid)
    if (known !== undefined) return known.operations
    const operations = await readOperations<Operation>(owner, store, signal)
    if (operations === undefined) throw missing(fileOf(owner))
    this.#remembered.set(owner.uid, { operations, stored: operations })
    return operations
  }

  /** What is remembered; undefined when nothing is. */
  peek(uid: string): readonly Operation[] | undefined {
    return this.#remembered.get(uid)?.operations
  }

  /** Remembers how operations stand, and sees to it that the file says so. When that fails, it is tried again with the next. */
  async save(
    { operations, ...owner }: OperationsOwner & { operations: readonly Operation[] },
    store: BackupStore,
    signal: AbortSignal,
  ): Promise<void> {
    const stored = this.#remembered.get(owner.uid)?.stored
    this.#remembered.set(owner.uid, { operations, stored: stored ?? [] })
    if (stored !== undefined && isSame(stored, operations)) return
    await store.putJson(fileOf(owner), operations, signal)
    this.#remembered.set(owner.uid, { operations, stored: operations })
  }

  forget(uid: string): void {
    this.#remembered.delete(uid)
  }
}

/** The operations in a file; undefined when there is no file. Throws STORE_FAULT for a damaged one. */
export async function readOperations<Operation extends ItemOperation>(
  owner: Pick<OperationsOwner, 'of' | 'name'>,
  store: Pick<BackupStore, 'getJson'>,
  signal: AbortSignal,
): Promise<Operation[] | undefined> {
  const file = fileOf(owner)
  const value = await store.getJson(file, signal)
  if (value === undefined) return undefined
  // Velero writes null for an empty list.
  if (value === null) return []
  if (Array.isArray(value) && value.every(isOperation)) return value as Operation[]
  throw damaged(file)
}

function isOperation(value: unknown): boolean {
  const { spec, status } = (value ?? {}) as { spec?: { operationID?: unknown }; status?: { phase?: unknown } }
  return typeof spec?.operationID === 'string' && typeof status?.phase === 'string'
}

function isSame(one: readonly ItemOperation[], other: readonly ItemOperation[]): boolean {
  return (
    one.length === other.length &&
    one.every((operation, at) => {
      const same = other[at]
      return same !== undefined && (same === operation || sameStatus(operation.status, same.status))
    })
  )
}

function fileOf({ of, name }: Pick<OperationsOwner, 'of' | 'name'>): StoredFile {
  return { of, name, file: 'itemOperations' }
}

function missing({ of, name }: StoredFile): ObjectStoreError {
  return new ObjectStoreError('STORE_FAULT', {
    reason: `the file of operations of the ${of} ${name} is not in the bucket`,
    hint: 'Put it back from a copy of the bucket, or cancel',
    retryable: false,
  })
}

function damaged({ of, name }: StoredFile): ObjectStoreError {
  return new ObjectStoreError('STORE_FAULT', {
    reason: `the file of operations of the ${of} ${name} is no list of operations`,
    hint: 'Put it back from a copy of the bucket, or cancel',
    retryable: false,
  })
}
