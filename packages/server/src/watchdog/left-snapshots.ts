import { type Backup, BackupKind, formatTime, isTerminal, labelNames, parseTime } from '@lateen/api'
import { isSnapshotOf } from '../csi/backup-snapshots.ts'
import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import type { Finding } from './finding.ts'
import { ifUnbound, type Members, removalOf, subjectOf, together } from './snapshot-removal.ts'

/** A snapshot that is still in the cluster although its backup has ended. */
export interface LeftSnapshot {
  readonly snapshot: VolumeSnapshot
  readonly backup: Backup
}

/**
 * Snapshots of backups that have ended. A backup removes them before it ends: where it could not, whoever deletes such an object, or its
 * namespace, may delete the snapshot in the storage, which the backup needs. Those of backups that are not among `backups` may be others'.
 */
export function leftSnapshots(
  snapshots: Iterable<VolumeSnapshot>,
  backups: Iterable<Backup>,
): LeftSnapshot[] {
  const byUid = new Map([...backups].map(backup => [backup.metadata.uid ?? '', backup]))
  return [...snapshots].flatMap(snapshot => {
    const uid = snapshot.metadata.labels?.[labelNames.backupUid] ?? ''
    const backup = byUid.get(uid)
    if (backup === undefined || !hasEnded(backup) || !isSnapshotOf(snapshot, uid)) return []
    return [{ snapshot, backup }]
  })
}

/** Whether a backup needs no objects of snapshots any more. One that is being deleted takes what is left along. */
export function hasEnded({ status }: Backup): boolean {
  return status?.phase !== 'Deleting' && isTerminal(BackupKind, status?.phase)
}

/** No backup takes so long: what is older and has none is not one of somebody who is at work. */
const LONG_MS = 24 * 3_600_000

/** Snapshots that backups took long ago of which there is none any more, as when one is deleted without its server. Nobody removes them. */
export function ownerlessSnapshots(
  snapshots: Iterable<VolumeSnapshot>,
  backups: Iterable<Backup>,
  now: number,
): VolumeSnapshot[] {
  const known = new Set([...backups].map(({ metadata }) => metadata.uid))
  return [...snapshots].filter(snapshot => {
    const { labels, creationTimestamp, deletionTimestamp } = snapshot.metadata
    const uid = labels?.[labelNames.backupUid] ?? ''
    if (known.has(uid) || !isSnapshotOf(snapshot, uid) || deletionTimestamp !== undefined) return false
    return !!creationTimestamp && now - parseTime(creationTimestamp) > LONG_MS
  })
}

/**
 * Such snapshots for people, those of a group together. That no Backup is there is no evidence that none needs them: its bucket may have been detached, and
 * come back. So the commands keep them in the storage.
 */
export function ownerlessFindings(
  snapshots: readonly VolumeSnapshot[],
  { areAll }: { areAll: boolean },
): Finding[] {
  const where = areAll ? 'not in the cluster any more' : 'not in this namespace'
  return together(snapshots).map(members => {
    const { labels, creationTimestamp } = members[0].metadata
    const backupName = labels?.[labelNames.backupName] ?? ''
    return {
      type: 'snapshot-object',
      subject: subjectOf(members),
      problem: `was taken for a Backup ${backupName} which is ${where}; nobody removes it. The commands keep it in the storage, because a bucket may still have that backup: if none has, delete it with the tools of the storage${ifUnbound(members, true)}`,
      ...(creationTimestamp && { since: formatTime(parseTime(creationTimestamp)) }),
      mend: removalOf(members, true),
    }
  })
}

/** Left snapshots for people, those of a group together. */
export function leftFindings(left: readonly LeftSnapshot[]): Finding[] {
  const backups = new Map(left.map(({ snapshot, backup }) => [snapshot, backup]))
  return together(left.map(({ snapshot }) => snapshot)).flatMap(members => {
    const backup = backups.get(members[0])
    return backup === undefined ? [] : [leftFinding(members, backup)]
  })
}

function leftFinding(members: Members, backup: Backup): Finding {
  const content = members[0].status?.boundVolumeSnapshotContentName
  const bound = content && members.length === 1 ? `, with the VolumeSnapshotContent ${content},` : ''
  const keep = isKept(backup)
  const danger = keep ? ', which needs its snapshot in the storage' : ', which has no use for it'
  const { completionTimestamp } = backup.status ?? {}
  return {
    type: 'snapshot-object',
    subject: subjectOf(members),
    problem: `is left${bound} after the end of Backup ${backup.metadata.name}${danger}${ifUnbound(members, keep)}`,
    ...(typeof completionTimestamp === 'string' && { since: completionTimestamp }),
    mend: removalOf(members, keep),
  }
}

function isKept({ status }: Backup): boolean {
  return status?.phase === 'Completed' || status?.phase === 'PartiallyFailed'
}
