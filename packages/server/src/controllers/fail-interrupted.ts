import { type Backup, BackupKind, BackupStorageLocationKind, formatTime, lateenAnnotation } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import { cancelMoves } from '../volumes/cancel-moves.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { type StopBackupScope, stopStoredOperations } from './stop-backup-operations.ts'

/** On a failed backup whose files are still in the bucket, until they are gone. */
export const leftoversAnnotation = lateenAnnotation('leftovers')

export interface InterruptedScope extends Omit<StopBackupScope, 'plugins' | 'openSnapshotters'> {
  client: KubeClient
  backups: LatestObjects<Backup>
  random: () => number
  ports: LocationPorts
  perform: Pick<StopBackupScope, 'plugins' | 'openSnapshotters'>
}

/** Velero's own words, which people search for. */
const reason = 'found a backup with status "InProgress" during the server starting, mark it as "Failed"'

/**
 * Ends a backup whose server died: stops what it had begun, removes what it had stored, then says Failed. In this order, so that a
 * server which dies here, too, finds it in progress again.
 */
export async function failInterrupted(backup: Backup, scope: InterruptedScope): Promise<void> {
  const { client, backups, clock, log, signal } = scope
  const { name = '' } = backup.metadata
  const annotations: Record<string, string> = {}
  await cancelMoves({ of: 'backup', uid: backup.metadata.uid ?? '' }, movesPorts(backup, scope))
  try {
    await removeLeftovers(backup, scope)
  } catch (error) {
    signal.throwIfAborted()
    annotations[leftoversAnnotation] = 'true'
    log.warn({ error, backup: name }, 'what an interrupted backup had stored could not be removed yet')
  }
  const status = { phase: 'Failed', failureReason: reason, completionTimestamp: formatTime(clock.now()) }
  const body = { metadata: { annotations }, status }
  const ports = { client, latest: backups, signal }
  if (await patchInPhase(backup, { kind: BackupKind, body }, ports)) {
    log.warn({ backup: name }, 'a backup was interrupted and has failed')
  }
}

function movesPorts({ metadata }: Backup, { client, log, signal }: InterruptedScope) {
  return { client, log, signal, namespace: metadata.namespace ?? '' }
}

/**
 * Deletes the snapshots of a backup that failed, stops its operations, and deletes what it stored that nobody can see: without `velero-backup.json` beside
 * them, files are its own to delete, because its name was free when it began. Throws what the API server and the object store throw.
 */
export async function removeLeftovers(backup: Backup, scope: InterruptedScope): Promise<void> {
  const { client, clock, log, random, ports, perform, signal } = scope
  await discardSnapshotsOf(backup, scope)
  const { name = '', namespace } = backup.metadata
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(backup.spec.storageLocation ?? '', { signal })
  await using opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  if ((await store.getMetadata(name, signal)) !== undefined) return
  const { plugins, openSnapshotters } = perform
  const reason = 'the backup failed'
  await stopStoredOperations(backup, { store, reason, clock, log, plugins, openSnapshotters, signal })
  await store.deleteBackup(name, signal)
}
