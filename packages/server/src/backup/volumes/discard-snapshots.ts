import type { Logger } from '@lateen/kube'
import type { BackupOperation } from '../../operations/backup-operation.ts'
import type { PluginSessions } from '../../plugin-host/plugin-session.ts'
import type { OpenSnapshotters, Snapshotters } from '../../volumes/snapshotters.ts'

interface DiscardScope {
  log: Logger
  signal: AbortSignal
}

/**
 * Deletes the snapshots among the operations of a backup that failed and of which nothing is kept, not even a list of its snapshots. What
 * cannot be deleted is told in the log. Throws the signal's reason.
 */
export async function discardSnapshots(
  operations: readonly BackupOperation[],
  { snapshotters, log, signal }: DiscardScope & { snapshotters: Snapshotters },
): Promise<void> {
  for (const { spec } of operations) {
    const { volumeSnapshotLocation, operationID: snapshotId, backupName: backup } = spec
    if (volumeSnapshotLocation === undefined) continue
    try {
      const snapshotter = await snapshotters.named(volumeSnapshotLocation, signal)
      await snapshotter.deleteSnapshot({ snapshotId, signal })
    } catch (error) {
      signal.throwIfAborted()
      const fields = { backup, volumeSnapshotLocation, snapshot: snapshotId, error }
      log.warn(
        fields,
        'a snapshot of a failed backup could not be deleted, and nothing is left that knows of it',
      )
    }
  }
}

/** The same in a session of its own, if there are any. */
export async function discardStoredSnapshots(
  operations: readonly BackupOperation[],
  {
    plugins,
    openSnapshotters,
    log,
    signal,
  }: DiscardScope & { plugins: PluginSessions; openSnapshotters?: OpenSnapshotters | undefined },
): Promise<void> {
  const isSnapshot = ({ spec }: BackupOperation) => spec.volumeSnapshotLocation !== undefined
  if (openSnapshotters === undefined || !operations.some(isSnapshot)) return
  await using session = plugins.open({ log })
  await discardSnapshots(operations, { snapshotters: openSnapshotters(session), log, signal })
}
