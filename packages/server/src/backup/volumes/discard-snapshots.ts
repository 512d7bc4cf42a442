import type { Logger } from '@lateen/kube'
import { eachAtOnce } from '../../csi/each-at-once.ts'
import type { BackupOperation } from '../../operations/backup-operation.ts'
import type { PluginSessions } from '../../plugin-host/plugin-session.ts'
import type { OpenSnapshotters, Snapshotters } from '../../volumes/snapshotters.ts'

interface DiscardScope {
  log: Logger
  signal: AbortSignal
}

/** Whether it is a native snapshot, which is to be deleted when its backup fails. */
export function isNativeSnapshot({ spec }: BackupOperation): boolean {
  return spec.volumeSnapshotLocation !== undefined
}

/**
 * Deletes the snapshots among the operations of a backup that failed and of which nothing is kept, not even a list of its snapshots; some
 * at a time. Returns those that could not be deleted, or not before the signal aborted. May be repeated. Throws nothing.
 */
export async function discardSnapshots(
  operations: readonly BackupOperation[],
  { snapshotters, log, signal }: DiscardScope & { snapshotters: Snapshotters },
): Promise<BackupOperation[]> {
  const left: BackupOperation[] = []
  await eachAtOnce(operations.filter(isNativeSnapshot), async operation => {
    const { volumeSnapshotLocation = '', operationID: snapshotId, backupName: backup } = operation.spec
    try {
      signal.throwIfAborted()
      const snapshotter = await snapshotters.named(volumeSnapshotLocation, signal)
      await snapshotter.deleteSnapshot({ snapshotId, signal })
    } catch (error) {
      left.push(operation)
      const fields = { backup, volumeSnapshotLocation, snapshot: snapshotId, error }
      log.warn(fields, 'a snapshot of a failed backup could not be deleted yet')
    }
  })
  return left
}

/** A plugin that says nothing for so long must not keep the worker that tidies up. */
const PATIENCE_MS = 300_000

/** The same in a session of its own, if there are any. */
export async function discardStoredSnapshots(
  operations: readonly BackupOperation[],
  {
    plugins,
    openSnapshotters,
    log,
    signal,
  }: DiscardScope & { plugins: PluginSessions; openSnapshotters?: OpenSnapshotters | undefined },
): Promise<BackupOperation[]> {
  const snapshots = operations.filter(isNativeSnapshot)
  if (openSnapshotters === undefined || snapshots.length === 0) return snapshots
  await using session = plugins.open({ log })
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  return await discardSnapshots(snapshots, {
    snapshotters: openSnapshotters(session),
    log,
    signal: patience,
  })
}
