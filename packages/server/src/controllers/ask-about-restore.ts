import { cancelledByRequest, isCancelRequested, type Restore } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import { isObjectStoreError, ObjectStoreError } from '@lateen/plugin'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, type OpenLocation, openLocation } from '../backup-store/open-location.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { restoreOperationPorts } from '../operations/plugin-answers.ts'
import { type OperationPorts, pollOperations } from '../operations/poll-operations.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import { addResults } from '../restore/finalize/add-results.ts'
import {
  askedAtOnce,
  failureText,
  journalOwnerOf,
  operationTimeoutOf,
  type SettledOperations,
  stopOperations,
} from '../restore/settle-operations.ts'
import { locationOfBackup } from './location-of-backup.ts'

export interface AskScope {
  client: KubeClient
  clock: Clock
  random: () => number
  log: Logger
  ports: LocationPorts
  plugins: PluginSessions
  waiting: WaitingOperations<RestoreOperation>
  signal: AbortSignal
}

/** Nobody will ever know how the operations stand. */
export interface NoOperations {
  reason: string
}

/**
 * Asks plugins how the operations of a restore stand, or tells them to stop if somebody asked for that, and stores what they say. Once
 * operations are known here, a bucket that does not answer does no harm. Throws KubeErrors, ObjectStoreError, and the signal's reason.
 */
export async function askAboutRestore(
  restore: Restore,
  scope: AskScope,
): Promise<SettledOperations | NoOperations> {
  const { plugins, clock, log, random, signal } = scope
  await using place = await openPlace(restore, scope)
  const operations = await knownOperations(restore, place, scope)
  if ('reason' in operations) return operations
  await using session = plugins.open({ log })
  const ports = restoreOperationPorts(restore, { plugins: session, clock, log })
  const settled = place.gone
    ? await stopOperations(operations, { ports, error: place.gone }, signal)
    : await askOrStop(restore, { operations, ports, beginAt: random() }, signal)
  await store(restore, settled, { ...scope, place })
  return settled
}

interface Asking {
  operations: readonly RestoreOperation[]
  ports: OperationPorts<RestoreOperation>
  beginAt: number
}

function askOrStop(
  restore: Restore,
  { operations, ports, beginAt }: Asking,
  signal: AbortSignal,
): Promise<SettledOperations> {
  if (isCancelRequested(restore))
    return stopOperations(operations, { ports, error: cancelledByRequest }, signal)
  const timeoutMs = operationTimeoutOf(restore)
  const endAtFailure = restore.status?.phase === 'WaitingForPluginOperations'
  const options = { timeoutMs, atOnce: askedAtOnce, endAtFailure, beginAt, signal }
  return pollOperations(operations, ports, options)
}

/** Where the files of a restore are, as far as it can be reached. */
interface Place extends AsyncDisposable {
  store?: BackupStore
  /** Why it cannot be reached now. */
  failure?: unknown
  /** Why it will never be. */
  gone?: string
}

const gone = 'the backup or its storage location was deleted while the restore waited for operations'

async function openPlace(restore: Restore, scope: AskScope): Promise<Place> {
  const { clock, random, signal } = scope
  const nothing = { [Symbol.asyncDispose]: async () => {} }
  const { namespace } = restore.metadata
  const location = await locationOfBackup({ namespace, name: restore.spec.backupName ?? '' }, scope)
  if (location === undefined) return { gone, ...nothing }
  let opened: OpenLocation
  try {
    opened = await openLocation(location, scope.ports, signal)
  } catch (failure) {
    signal.throwIfAborted()
    return { failure, ...nothing }
  }
  const store = createBackupStore({ location: opened, clock, random })
  return { store, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

async function knownOperations(
  restore: Restore,
  { store, failure, gone: reason }: Place,
  { waiting, signal }: AskScope,
): Promise<readonly RestoreOperation[] | NoOperations> {
  const { uid = '', name = '' } = restore.metadata
  const known = waiting.peek(uid)
  if (known !== undefined) return known
  if (reason !== undefined) return { reason }
  if (store === undefined) throw failure
  const owner = { of: 'restore', name, uid } as const
  try {
    const stored = await waiting.load(owner, store, signal)
    if (stored.length >= (restore.status?.restoreItemOperationsAttempted ?? 0)) return stored
    waiting.forget(uid)
    throw tooFew(restore, stored.length)
  } catch (error) {
    if (!isObjectStoreError(error, 'STORE_FAULT')) throw error
    // The file could not be stored when the restore began to wait, but the journal could before.
    const journal = await readJournal<RestoreOperation>(store, journalOwnerOf(restore), signal)
    const mine = journal.filter(({ spec }) => spec.restoreUID === uid)
    if (mine.length === 0) throw error
    await waiting.save({ ...owner, operations: mine }, store, signal)
    return mine
  }
}

function tooFew({ metadata, status }: Restore, found: number): ObjectStoreError {
  const attempted = status?.restoreItemOperationsAttempted
  return new ObjectStoreError('STORE_FAULT', {
    reason: `the file of operations of the restore ${metadata.name} has ${found} instead of ${attempted}`,
    hint: 'Put it back from a copy of the bucket, or cancel the restore',
    retryable: false,
  })
}

/** File and results say what happened before the phase does. */
async function store(
  restore: Restore,
  { operations, unfinished }: SettledOperations,
  { place, waiting, log, signal }: AskScope & { place: Place },
): Promise<void> {
  const { uid = '', name = '' } = restore.metadata
  if (place.store === undefined) return
  const failed = operations.filter(({ status }) => status.phase === 'Failed')
  const isNew = failed.length !== (restore.status?.restoreItemOperationsFailed ?? 0)
  try {
    await waiting.save({ of: 'restore', name, uid, operations }, place.store, signal)
    if (isNew) {
      const added = { errors: { velero: failed.map(failureText) }, warnings: {} }
      await addResults(restore, added, { store: place.store, signal })
    }
    if (unfinished === 0) await place.store.deleteSegments(journalOwnerOf(restore), signal)
  } catch (error) {
    signal.throwIfAborted()
    // What comes next reads the file; a bucket that may never be written to is not waited for.
    if (unfinished === 0 && isObjectStoreError(error) && error.retryable) throw error
    log.warn({ error, restore: name }, 'how the operations of a restore stand could not be stored')
  }
}
