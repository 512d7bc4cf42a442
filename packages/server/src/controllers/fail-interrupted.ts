import { type Backup, BackupKind, BackupStorageLocationKind, formatTime, lateenAnnotation } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'

/** On a failed backup whose files are still in the bucket, until they are gone. */
export const leftoversAnnotation = lateenAnnotation('leftovers')

export interface InterruptedScope {
  client: KubeClient
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  ports: LocationPorts
  log: Logger
  signal: AbortSignal
}

/** Velero's own words, which people search for. */
const reason = 'found a backup with status "InProgress" during the server starting, mark it as "Failed"'

/**
 * Ends a backup whose server died: removes what it had stored, then says Failed. In this order, so that a server which dies
 * here, too, finds it in progress again.
 */
export async function failInterrupted(backup: Backup, scope: InterruptedScope): Promise<void> {
  const { client, backups, clock, log, signal } = scope
  const { name = '' } = backup.metadata
  const annotations: Record<string, string> = {}
  try {
    await removeLeftovers(backup, scope)
  } catch (error) {
    signal.throwIfAborted()
    annotations[leftoversAnnotation] = 'true'
    log.warn({ error, backup: name }, 'what an interrupted backup had stored could not be removed yet')
  }
  const status = { phase: 'Failed', failureReason: reason, completionTimestamp: formatTime(clock.now()) }
  const patch = { type: 'merge', body: { metadata: { annotations }, status } } as const
  const ports = { client, latest: backups, signal }
  if (await patchObject(backup, { kind: BackupKind, patch }, ports)) {
    log.warn({ backup: name }, 'a backup was interrupted and has failed')
  }
}

/**
 * Deletes what a backup stored that nobody can see: without `velero-backup.json` beside them, files are its own to delete, because
 * its name was free when it began. Throws what the API server and the object store throw.
 */
export async function removeLeftovers(
  backup: Backup,
  { client, clock, random, ports, signal }: InterruptedScope,
): Promise<void> {
  const { name = '', namespace } = backup.metadata
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(backup.spec.storageLocation ?? '', { signal })
  await using opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  if ((await store.getMetadata(name, signal)) === undefined) await store.deleteBackup(name, signal)
}
