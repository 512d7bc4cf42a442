import type { Backup } from '@lateen/api'
import type { Clock, Logger } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { operationPortsOf } from '../backup/run-operations.ts'
import { discardStoredSnapshots, isNativeSnapshot } from '../backup/volumes/discard-snapshots.ts'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { type CancelledOperations, mergeOperations, tellToStop } from '../operations/cancel-operations.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { hasEnded } from '../operations/operation-status.ts'
import { readOperations } from '../operations/waiting-operations.ts'
import type { LeftBehind } from './left-behind.ts'

/** Who is told to stop. */
export interface StopBackupScope extends Pick<PerformPorts, 'plugins' | 'openSnapshotters'> {
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/**
 * Stops what a backup has begun and nobody waits for any more, as far as the bucket knows of it, and deletes its snapshots: its files
 * are about to be removed, and with them every trace of those. Returns what is left; what a plugin answers to being told to stop is no
 * matter. May be repeated. Throws ObjectStoreError when the bucket cannot be read, and the signal's reason.
 */
export async function stopStoredOperations(
  backup: Backup,
  { store, reason, ...scope }: StopBackupScope & { store: BackupStore; reason: string },
): Promise<LeftBehind> {
  const operations = await storedOperations(backup, { store, ...scope })
  const others = operations.filter(each => !isNativeSnapshot(each))
  const { unheard } = await stopBackupOperations(backup, others, { ...scope, reason })
  // Deleting a snapshot ends its upload, too: what its plugin does not hear is made good by that.
  await stopBackupOperations(backup, operations.filter(isNativeSnapshot), { ...scope, reason })
  const snapshots = await discardStoredSnapshots(operations, scope)
  scope.signal.throwIfAborted()
  return { unheard, snapshots }
}

/** Stops those of the operations of a backup that have not ended, as `tellToStop` does. Throws the signal's reason. */
export async function stopBackupOperations(
  backup: Backup,
  operations: readonly BackupOperation[],
  scope: StopBackupScope & { reason: string },
): Promise<CancelledOperations<BackupOperation>> {
  const { plugins, openSnapshotters, clock, log, reason, signal } = scope
  const unfinished = operations.filter(({ status }) => !hasEnded(status)).length
  if (unfinished === 0) return { operations: [...operations], heard: [...operations], unheard: 0 }
  log.info({ backup: backup.metadata.name, operations: unfinished, reason }, 'operations are stopped')
  await using session = plugins.open({ log })
  const snapshotters = openSnapshotters?.(session)
  const ports = operationPortsOf(backup, { clock, log, plugins: session, snapshotters })
  return await tellToStop(operations, { ports, error: reason, signal })
}

async function storedOperations(
  backup: Backup,
  { store, log, signal }: { store: BackupStore; log: Logger; signal: AbortSignal },
): Promise<BackupOperation[]> {
  const { name = '', uid } = backup.metadata
  const orNone = (error: unknown): BackupOperation[] => {
    if (!isObjectStoreError(error, 'STORE_FAULT') || error.retryable) throw error
    log.warn({ error, backup: name }, 'a list of begun operations is damaged; they are not stopped')
    return []
  }
  const owner = { of: 'backup', name } as const
  const journal = await readJournal<BackupOperation>(store, owner, signal).catch(orNone)
  const file = await readOperations<BackupOperation>(owner, store, signal).catch(orNone)
  return mergeOperations(journal, file ?? []).filter(({ spec }) => spec.backupUID === uid)
}
