import { isObjectStoreError } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { mergeOperations } from '../operations/cancel-operations.ts'
import { readJournal } from '../operations/operation-journal.ts'
import { readOperations } from '../operations/waiting-operations.ts'
import type { DeletionScope } from './deletion-step.ts'

/**
 * The operations of a backup as far as its journal and its file know them. Those of a list that is damaged are not known: no attempt
 * would bring them back, so that is no reason to keep the backup. Throws ObjectStoreError, and the signal's reason.
 */
export async function storedOperations(
  { backup, log, signal }: Pick<DeletionScope, 'backup' | 'log' | 'signal'>,
  store: BackupStore,
): Promise<BackupOperation[]> {
  const { name = '' } = backup.metadata
  const owner = { of: 'backup', name } as const
  const orNone = (error: unknown): BackupOperation[] => {
    if (!isDamaged(error)) throw error
    log.warn({ error, backup: name }, 'a list of operations of a deleted backup is damaged')
    return []
  }
  const journal = await readJournal<BackupOperation>(store, owner, signal).catch(orNone)
  const file = await readOperations<BackupOperation>(owner, store, signal).catch(orNone)
  return mergeOperations(journal, file ?? [])
}

/** Whether a file is there and cannot be read, today or ever. */
export function isDamaged(error: unknown): boolean {
  return isObjectStoreError(error, 'STORE_FAULT') && !error.retryable
}
