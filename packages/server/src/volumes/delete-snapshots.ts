import type { Logger } from '@lateen/kube'
import { isPluginError, type VolumeSnapshotter } from '@lateen/plugin'
import { messageOf } from '../item/item-error.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { hasEnded } from '../operations/operation-status.ts'
import type { Snapshotters } from './snapshotters.ts'
import type { NativeSnapshot } from './volume-backup.ts'

export interface DeleteSnapshotsOptions {
  /** `-volumesnapshots.json.gz` of the backup. */
  snapshots: readonly NativeSnapshot[]
  /** Those of the backup, as they were last known: what is under way is cancelled before it is deleted. */
  operations: readonly BackupOperation[]
  snapshotters: Snapshotters
  log: Logger
  signal: AbortSignal
}

/** How many are deleted at once. */
const atOnce = 4

/**
 * Deletes the snapshots of a backup, all that can be: returns what went wrong with the others. May be repeated: deleting what is not
 * there is no error. Throws the signal's reason.
 */
export async function deleteSnapshots(options: DeleteSnapshotsOptions): Promise<Error[]> {
  const { log, signal } = options
  const errors: Error[] = []
  const left = options.snapshots.filter(snapshot => {
    if (snapshot.status.providerSnapshotID) return true
    const persistentVolume = snapshot.spec.persistentVolumeName
    log.warn({ persistentVolume }, 'a snapshot without an id is not deleted: it was never taken')
    return false
  })
  const deleteOn = async () => {
    for (let snapshot = left.shift(); snapshot !== undefined; snapshot = left.shift()) {
      try {
        await deleteOne(snapshot, options)
      } catch (cause) {
        signal.throwIfAborted()
        const id = snapshot.status.providerSnapshotID
        errors.push(new Error(`error deleting snapshot ${id}: ${messageOf(cause)}`, { cause }))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, deleteOn))
  return errors
}

async function deleteOne(
  { spec, status }: NativeSnapshot,
  { operations, snapshotters, log, signal }: DeleteSnapshotsOptions,
): Promise<void> {
  const snapshotId = status.providerSnapshotID ?? ''
  const snapshotter = await snapshotters.named(spec.location, signal)
  const isUnderWay = operations.some(
    operation =>
      operation.spec.volumeSnapshotLocation === spec.location &&
      operation.spec.operationID === snapshotId &&
      !hasEnded(operation.status),
  )
  if (isUnderWay) await stopUpload(snapshotter, { snapshotId, log, signal })
  await snapshotter.deleteSnapshot({ snapshotId, signal })
  log.info({ snapshot: snapshotId, volumeSnapshotLocation: spec.location }, 'a snapshot is deleted')
}

/** Deleting ends an upload, too: what cancelling says changes nothing. */
async function stopUpload(
  snapshotter: VolumeSnapshotter,
  { snapshotId, log, signal }: { snapshotId: string; log: Logger; signal: AbortSignal },
): Promise<void> {
  try {
    await snapshotter.cancel?.({ snapshotId, signal })
  } catch (error) {
    signal.throwIfAborted()
    if (isPluginError(error, 'UNIMPLEMENTED')) return
    log.warn({ error, snapshot: snapshotId }, 'a snapshot could not be cancelled')
  }
}
