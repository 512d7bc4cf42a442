import type { Backup, BackupStatus } from '@lateen/api'
import { type Clock, isRetryable, type KubeClient } from '@lateen/kube'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import {
  type BackupGroup,
  groupsOfBackup,
  isHalfKept,
  isMemberOf,
  membersOf,
  removeGroup,
} from '../../csi/backup-groups.ts'
import { snapshotsOfBackup } from '../../csi/backup-snapshots.ts'
import { CsiError } from '../../csi/csi-error.ts'
import { eachAtOnce } from '../../csi/each-at-once.ts'
import { isRefusal } from '../../csi/is-refusal.ts'
import { orphanContents, removeOrphan } from '../../csi/orphan-contents.ts'
import { discardSnapshot, releaseSnapshot } from '../../csi/release-snapshot.ts'
import { snapshotGroup, type VolumeSnapshot, type VolumeSnapshotContent } from '../../csi/snapshot-kinds.ts'
import { createScratchFolder } from '../../scratch/scratch-folder.ts'
import { openLog } from '../open-log.ts'
import type { PerformPorts } from '../perform-backup.ts'
import { addToReport, readResults } from './add-to-report.ts'
import { type ArchivedSnapshots, archivedSnapshots } from './archived-snapshots.ts'

export interface CleanUpPorts
  extends Pick<PerformPorts, 'client' | 'clock' | 'log' | 'scratch' | 'logLevel' | 'logFormat'> {}

interface Removal {
  backup: Backup
  store: BackupStore
  /** Those of the backup that are in the cluster, where that is known. */
  snapshots?: readonly VolumeSnapshot[]
}

/** A snapshot whose objects could not be removed, and why. */
export interface LeftSnapshot {
  snapshot: VolumeSnapshot
  error: unknown
}

/**
 * Removes from the cluster what a backup took snapshots by, once its archive is in the bucket: the snapshots that stand in there stay in the
 * storage, and all others go. What cannot be removed is a warning of the backup. May be repeated. Returns what comes on top of the status.
 *
 * Throws KubeErrors and ObjectStoreError; repeating may help.
 */
export async function cleanUpSnapshots(
  { backup, store }: { backup: Backup; store: BackupStore },
  ports: CleanUpPorts,
  signal: AbortSignal,
): Promise<BackupStatus> {
  const snapshots = await snapshotsOfBackup(backup.metadata.uid ?? '', { client: ports.client, signal })
  const left = await removeSnapshots({ backup, store, snapshots }, ports, signal)
  // Somebody deleted the others, whose contents stay: they keep what is in the storage from when they were to be stored.
  const isMissed = snapshots.length < (backup.status?.csiVolumeSnapshotsAttempted ?? 0)
  if (isMissed) await removeOrphans({ backup, store }, ports, signal)
  if (left.length === 0) return {}
  await using scratch = await createScratchFolder(ports.scratch, 'clean-up')
  await using log = await openLog(backup, scratch.folder, ports)
  for (const { snapshot, error } of left) {
    const { namespace, name } = snapshot.metadata
    const fields = { resource: `volumesnapshots.${snapshotGroup}`, namespace, name, error }
    log.warn(fields, 'A snapshot is in the backup, but its objects stay in the cluster')
  }
  const scope = { backup, store, log, signal }
  await addToReport(await readResults(scope), { ...scope, serverLog: ports.log })
  return { warnings: log.warnings }
}

async function removeOrphans(
  { backup, store }: { backup: Backup; store: BackupStore },
  { client, log }: CleanUpPorts,
  signal: AbortSignal,
): Promise<void> {
  const archived = await archivedSnapshots({ backup, store, signal })
  if (archived === undefined) return
  for (const { content } of await orphanContents([backup.metadata.uid ?? ''], { client, signal })) {
    try {
      await removeOrphan(content, hasSnapshotOf(content, archived), { client, signal })
    } catch (error) {
      signal.throwIfAborted()
      if (!isRefusal(error)) throw error
      const { name } = content.metadata
      log.warn({ error, backup: backup.metadata.name, content: name }, 'a content cannot be removed yet')
    }
  }
}

/** Whether the snapshot of a content is in the archive. */
export function hasSnapshotOf({ spec }: VolumeSnapshotContent, archived: ArchivedSnapshots): boolean {
  const { namespace = '', name = '' } = spec.volumeSnapshotRef
  return archived.has({ group: snapshotGroup, resource: 'volumesnapshots', namespace, name })
}

/** Returns those that are left, which is all of them where the bucket does not tell which of them are needed. Throws what repeating may help against. */
export async function removeSnapshots(
  { backup, store, snapshots: known }: Removal,
  { client, clock }: { client: KubeClient; clock: Clock },
  signal: AbortSignal,
): Promise<LeftSnapshot[]> {
  const ports = { client, clock, signal }
  const snapshots = known ?? (await snapshotsOfBackup(backup.metadata.uid ?? '', ports))
  const groups = await groupsOfBackup(backup, ports)
  if (snapshots.length + groups.length === 0) return []
  const archived = await archivedSnapshots({ backup, store, signal })
  if (archived === undefined) return snapshots.map(snapshot => ({ snapshot, error: archiveUnknown() }))
  const left: LeftSnapshot[] = []
  await eachAtOnce(groups, async group => {
    try {
      await removeGroup(group, isNeeded(group, archived), ports)
    } catch (error) {
      signal.throwIfAborted()
      if (isRetryable(error)) throw error
      left.push(...group.snapshots.map(snapshot => ({ snapshot, error })))
    }
  })
  const alone = snapshots.filter(snapshot => !groups.some(group => isMemberOf(snapshot, group)))
  await eachAtOnce(alone, async snapshot => {
    const { namespace = '', name = '' } = snapshot.metadata
    const id = { group: snapshotGroup, resource: 'volumesnapshots', namespace, name }
    try {
      await (archived.has(id) ? releaseSnapshot : discardSnapshot)(snapshot, ports)
    } catch (error) {
      signal.throwIfAborted()
      if (isRetryable(error)) throw error
      left.push({ snapshot, error })
    }
  })
  return left
}

/** What is needed by a backup that is not where it is looked for is not known. */
export function archiveUnknown(): CsiError {
  return new CsiError('ARCHIVE_UNKNOWN', {
    reason:
      'the bucket has no list of what is in the backup, so nobody knows whether the backup needs the snapshot',
    hint: 'See whether its storage location points to the bucket that it was stored in. If the backup is lost, delete it',
  })
}

/** A group goes or stays as a whole: the storage keeps it when one of its snapshots is needed, or nobody can tell any more. */
function isNeeded(group: BackupGroup, archived: ArchivedSnapshots): boolean {
  if (isHalfKept(group)) return true
  return membersOf(group).some(member =>
    archived.has({ group: snapshotGroup, resource: 'volumesnapshots', ...member }),
  )
}
