import type { Restore } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { mergeOperations } from '../operations/cancel-operations.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { hasEnded } from '../operations/operation-status.ts'
import { restoreOperationPorts } from '../operations/plugin-answers.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import { readOperations, type WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import { journalOwnerOf, type SettledOperations, stopOperations } from '../restore/settle-operations.ts'
import { locationOfRestore } from './location-of-restore.ts'

export interface StopOperationsScope {
  client: KubeClient
  clock: Clock
  random: () => number
  log: Logger
  ports: LocationPorts
  plugins: PluginSessions
  waiting: WaitingOperations<RestoreOperation>
  signal: AbortSignal
}

/**
 * Stops what a restore has begun and nobody waits for any more, as far as the bucket or this server knows of it, and says so in its
 * file. Undefined when it has begun nothing. May be repeated: what a server has stopped that died before it could say so is counted
 * again. Throws KubeErrors, ObjectStoreError, and the signal's reason.
 */
export async function stopRestoreOperations(
  restore: Restore,
  error: string,
  scope: StopOperationsScope,
): Promise<SettledOperations | undefined> {
  const { clock, random, waiting, signal } = scope
  const { uid = '' } = restore.metadata
  const known = waiting.peek(uid) ?? []
  const location = await locationOfRestore(restore, scope)
  if (location === undefined) return stopAll(restore, { operations: known, error }, scope)
  try {
    await using opened = await openLocation(location, scope.ports, signal)
    const store = createBackupStore({ location: opened, clock, random })
    const operations = mergeOperations(await storedOperations(restore, store, signal), known)
    const stopped = await stopAll(restore, { operations, error }, scope)
    if (stopped !== undefined) await noteStopped(restore, { before: operations, stopped }, { store, signal })
    waiting.forget(uid)
    return stopped
  } catch (cause) {
    if (!isObjectStoreError(cause, 'NO_BUCKET')) throw cause
    return stopAll(restore, { operations: known, error }, scope)
  }
}

async function storedOperations(
  restore: Restore,
  store: BackupStore,
  signal: AbortSignal,
): Promise<RestoreOperation[]> {
  const { name = '', uid } = restore.metadata
  const journal = readJournal<RestoreOperation>(store, journalOwnerOf(restore), signal)
  const noted = await journal.catch(unlessDamaged)
  const file = await readOperations<RestoreOperation>({ of: 'restore', name }, store, signal).catch(
    unlessDamaged,
  )
  // Those of an earlier restore of the same name are not its own.
  return mergeOperations(noted ?? [], file ?? []).filter(({ spec }) => spec.restoreUID === uid)
}

/** What cannot be read today cannot be read tomorrow. */
function unlessDamaged(error: unknown): undefined {
  if (!(isObjectStoreError(error, 'STORE_FAULT') && !error.retryable)) throw error
}

async function stopAll(
  restore: Restore,
  { operations, error }: { operations: readonly RestoreOperation[]; error: string },
  { plugins, clock, log, signal }: StopOperationsScope,
): Promise<SettledOperations | undefined> {
  if (operations.length === 0) return undefined
  const unfinished = operations.filter(({ status }) => !hasEnded(status)).length
  await using session = plugins.open({ log })
  const ports = restoreOperationPorts(restore, { plugins: session, clock, log })
  if (unfinished > 0) {
    log.info(
      { restore: restore.metadata.name, operations: unfinished, reason: error },
      'operations are stopped',
    )
  }
  return await stopOperations(operations, { ports, error }, signal)
}

async function noteStopped(
  restore: Restore,
  { before, stopped }: { before: readonly RestoreOperation[]; stopped: SettledOperations },
  { store, signal }: { store: BackupStore; signal: AbortSignal },
): Promise<void> {
  const name = restore.metadata.name ?? ''
  if (before.some(({ status }) => !hasEnded(status))) {
    await store.putJson({ of: 'restore', name, file: 'itemOperations' }, stopped.operations, signal)
  }
  await store.deleteSegments(journalOwnerOf(restore), signal)
}
