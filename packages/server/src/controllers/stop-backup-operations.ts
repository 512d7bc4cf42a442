import type { Backup } from '@lateen/api'
import type { Clock, Logger } from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { operationPortsOf } from '../backup/run-operations.ts'
import { discardStoredSnapshots } from '../backup/volumes/discard-snapshots.ts'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { cancelOperations, mergeOperations } from '../operations/cancel-operations.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { hasEnded } from '../operations/operation-status.ts'
import { readOperations } from '../operations/waiting-operations.ts'

/** Who is told to stop. */
export interface StopBackupScope extends Pick<PerformPorts, 'plugins' | 'openSnapshotters'> {
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/**
 * Stops what a backup has begun and nobody waits for any more, as far as the bucket knows of it, and deletes its snapshots: its files
 * are about to be removed, and with them every trace of those. What plugins say to that changes nothing. Throws ObjectStoreError when the bucket cannot be read, and the signal's reason.
 */
export async function stopStoredOperations(
  backup: Backup,
  { store, reason, ...scope }: StopBackupScope & { store: BackupStore; reason: string },
): Promise<void> {
  const operations = await storedOperations(backup, { store, ...scope })
  await stopBackupOperations(backup, operations, { ...scope, reason })
  await discardStoredSnapshots(operations, scope)
}

/** Stops those of the operations of a backup that have not ended. Throws the signal's reason. */
export async function stopBackupOperations(
  backup: Backup,
  operations: readonly BackupOperation[],
  scope: StopBackupScope & { reason: string },
): Promise<readonly BackupOperation[]> {
  const { plugins, openSnapshotters, clock, log, reason, signal } = scope
  const unfinished = operations.filter(({ status }) => !hasEnded(status)).length
  if (unfinished === 0) return operations
  log.info({ backup: backup.metadata.name, operations: unfinished, reason }, 'operations are stopped')
  await using session = plugins.open({ log })
  const snapshotters = openSnapshotters?.(session)
  const ports = operationPortsOf(backup, { clock, log, plugins: session, snapshotters })
  return await cancelOperations(operations, { ports, error: reason, signal })
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
