import { finalizerNames, parseTime, type Restore } from '@lateen/api'
import { isObjectStoreError } from '@lateen/plugin'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { openLocation } from '../backup-store/open-location.ts'
import { journalOwnerOf } from '../restore/settle-operations.ts'
import { locationOfRestore } from './location-of-restore.ts'
import { type MoveScope, patchRestore } from './move-restore.ts'
import { recordEvent } from './record-event.ts'
import { type StopOperationsScope, stopRestoreOperations } from './stop-restore-operations.ts'

export interface RemoveScope extends MoveScope, StopOperationsScope {
  /** For how long a deletion waits for a store that does not answer. */
  patienceMs: number
}

const { restoreExternalResources: finalizer } = finalizerNames

/** Whether the files of a restore are to be removed before the object can go. */
export function awaitsRemoval({ metadata }: Restore): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer)
}

/** The finalizers of a restore together with the one that keeps it until its files are gone. */
export function keptForFiles({ metadata }: Restore): string[] {
  return [...new Set([...(metadata.finalizers ?? []), finalizer])]
}

/**
 * Stops what a restore that is being deleted waits for, removes its files, then lets the object go. Where location or bucket do not exist there is
 * nothing to remove; a store that fails is tried again for as long as patience lasts. Throws while that is so.
 */
export async function removeRestore(restore: Restore, scope: RemoveScope): Promise<void> {
  try {
    await stopRestoreOperations(restore, 'the restore was deleted', scope)
    await removeFiles(restore, scope)
  } catch (error) {
    scope.signal.throwIfAborted()
    if (!isPatienceOver(restore, scope)) throw error
    await tellOfLeftovers(restore, error, scope)
  }
  const { finalizers = [], resourceVersion } = restore.metadata
  const others = finalizers.filter(each => each !== finalizer)
  const body = { metadata: { resourceVersion, finalizers: others } }
  await patchRestore(restore, { type: 'merge', body }, scope)
  scope.log.info({ restore: restore.metadata.name }, 'restore removed')
}

async function removeFiles(restore: Restore, scope: RemoveScope): Promise<void> {
  const { clock, random, ports, signal, log } = scope
  const { name = '' } = restore.metadata
  const location = await locationOfRestore(restore, scope)
  if (location === undefined) {
    const { backupName: backup } = restore.spec
    log.info({ restore: name, backup }, 'a restore without a storage location has no files to remove')
    return
  }
  try {
    await using opened = await openLocation(location, ports, signal)
    const store = createBackupStore({ location: opened, clock, random })
    await store.deleteSegments(journalOwnerOf(restore), signal)
    await store.deleteRestore(name, signal)
  } catch (error) {
    if (!isObjectStoreError(error, 'NO_BUCKET')) throw error
    log.info({ restore: name, error }, 'the files of a restore have gone with their bucket')
  }
}

function isPatienceOver({ metadata }: Restore, { clock, patienceMs }: RemoveScope): boolean {
  return clock.now() >= parseTime(metadata.deletionTimestamp ?? '') + patienceMs
}

async function tellOfLeftovers(restore: Restore, error: unknown, scope: RemoveScope): Promise<void> {
  const { name } = restore.metadata
  const reason = error instanceof Error ? error.message : String(error)
  scope.log.warn({ restore: name, error }, 'the files of a deleted restore are left in the object store')
  const message = `restores/${name}/ is left in the object store, because it could not be removed: ${reason}`
  await recordEvent({ about: restore, type: 'Warning', reason: 'RestoreFilesLeft', message }, scope)
}
