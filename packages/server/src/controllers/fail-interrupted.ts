import {
  type Backup,
  BackupKind,
  BackupStorageLocationKind,
  cancelledByRequest,
  formatTime,
  isCancelRequested,
  lateenAnnotation,
} from '@lateen/api'
import { isNotFound, type KubeClient } from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { claimOf } from '../backup-store/claim-name.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import { cancelMoves } from '../volumes/cancel-moves.ts'
import { releaseName } from './backup-place.ts'
import { presenceOf } from './backup-presence.ts'
import type { LatestObjects } from './latest-objects.ts'
import { type LeftBehind, LeftBehindError } from './left-behind.ts'
import { patchInPhase } from './patch-in-phase.ts'
import type { Patience } from './patience.ts'
import { type StopBackupScope, stopStoredOperations } from './stop-backup-operations.ts'

/** On a failed backup of which something is left: operations, snapshots, or files in the bucket, by which those are found. Until all is gone. */
export const leftoversAnnotation = lateenAnnotation('leftovers')

export interface InterruptedScope extends Omit<StopBackupScope, 'plugins' | 'openSnapshotters'> {
  client: KubeClient
  backups: LatestObjects<Backup>
  random: () => number
  ports: LocationPorts
  perform: Pick<StopBackupScope, 'plugins' | 'openSnapshotters'>
  /** With operations and snapshots that cannot be stopped and deleted, after which their files are deleted all the same. */
  patience: Patience
}

/** Velero's own words, which people search for. */
const interrupted = 'found a backup with status "InProgress" during the server starting, mark it as "Failed"'

/**
 * Ends a backup whose server died: stops what it had begun, removes what it had stored, then says Failed. In this order, so that a
 * server which dies here, too, finds it in progress again.
 */
export async function failInterrupted(backup: Backup, scope: InterruptedScope): Promise<void> {
  const { client, backups, clock, log, signal } = scope
  const { name = '' } = backup.metadata
  // What is remembered of it may be old: a server that has lost the answer to its last move is no dead one.
  if ((await presenceOf(backup, scope)) !== 'in progress') return
  const annotations: Record<string, string> = {}
  await cancelMoves({ of: 'backup', uid: backup.metadata.uid ?? '' }, movesPorts(backup, scope))
  try {
    await removeLeftovers(backup, scope)
  } catch (error) {
    signal.throwIfAborted()
    annotations[leftoversAnnotation] = 'true'
    log.warn({ error, backup: name }, 'what an interrupted backup had stored could not be removed yet')
  }
  const failureReason = isCancelRequested(backup) ? cancelledByRequest : interrupted
  const status = { phase: 'Failed', failureReason, completionTimestamp: formatTime(clock.now()) }
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
 * them, files are its own to delete, because its name was free when it began. Throws what the API server and the object store throw, and
 * LeftBehindError for as long as there is patience with what cannot be stopped or deleted.
 */
export async function removeLeftovers(backup: Backup, scope: InterruptedScope): Promise<void> {
  await removeAllLeft(backup, scope)
  scope.patience.forget(backup.metadata.uid ?? '')
}

async function removeAllLeft(backup: Backup, scope: InterruptedScope): Promise<void> {
  const { client, clock, log, random, ports, perform, signal } = scope
  await discardSnapshotsOf(backup, scope)
  const { name = '', namespace } = backup.metadata
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(backup.spec.storageLocation ?? '', { signal })
  await using opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  if ((await store.getMetadata(name, signal)) !== undefined)
    return releaseName(backup, { store, log, signal })
  // Whoever has claimed the name since found it free: nothing is left.
  if (await store.hasBeside(claimOf(backup), 'claims', signal)) return
  const { plugins, openSnapshotters } = perform
  const reason = 'the backup failed'
  const stopping = { store, reason, clock, log, plugins, openSnapshotters, signal }
  requireNothingLeft(backup, await stopStoredOperations(backup, stopping), scope)
  await store.deleteBackup(name, signal)
}

/**
 * The same for a backup that was deleted, which nobody else remembers: throws for as long as there is patience with whatever is in the
 * way, and gives up then, or when its location is gone. False when it has given up.
 */
export async function removeDeleted(backup: Backup, scope: InterruptedScope): Promise<boolean> {
  const { log, patience, signal } = scope
  const { uid = '', name } = backup.metadata
  try {
    await removeLeftovers(backup, scope)
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isNotFound(error) && patience.lasts(uid)) throw error
    log.warn({ error, backup: name }, 'what a deleted backup has left could not be removed, and is given up')
    patience.forget(uid)
    return false
  }
}

function requireNothingLeft(
  { metadata }: Backup,
  left: LeftBehind,
  { log, patience }: InterruptedScope,
): void {
  const { uid = '', name } = metadata
  if (left.unheard === 0 && left.snapshots.length === 0) return
  const error = new LeftBehindError(left)
  if (patience.lasts(uid)) throw error
  log.warn({ error, backup: name }, 'what a failed backup has begun is given up, and nobody looks after it')
}
