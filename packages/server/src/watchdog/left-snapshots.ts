import {
  type Backup,
  BackupKind,
  type BackupStorageLocation,
  formatTime,
  isTerminal,
  labelNames,
  parseTime,
  validLabelValue,
} from '@lateen/api'
import { isSnapshotOf } from '../csi/backup-snapshots.ts'
import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import { type Finding, quoted } from './finding.ts'

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

/** What is known of the backups that a snapshot may be of. */
export interface PossibleOwners {
  /** Of all namespaces that may be looked at. */
  readonly backups: readonly Backup[]
  /** Of the same namespaces. */
  readonly locations: readonly BackupStorageLocation[]
  /** Whether these are all namespaces. */
  readonly areAll: boolean
}

/** Such a snapshot for people. What is in the storage goes only where it is known that no backup needs it. */
export function ownerlessSnapshotFinding(snapshot: VolumeSnapshot, owners: PossibleOwners): Finding {
  const { namespace = '', name = '', labels, creationTimestamp } = snapshot.metadata
  const backupName = labels?.[labelNames.backupName] ?? ''
  const need = needOf(backupName, owners)
  const where = owners.areAll ? 'not in the cluster any more' : 'not in this namespace'
  const storage =
    need === undefined
      ? 'no backup that is known here needs the snapshot in the storage, which goes, too'
      : `the snapshot in the storage is to be kept: ${need}`
  return {
    type: 'snapshot-object',
    subject: `VolumeSnapshot ${namespace}/${name}`,
    problem: `was taken for a Backup ${backupName} which is ${where}; nobody removes it, and ${storage}${ifUnbound(snapshot, need !== undefined)}`,
    ...(creationTimestamp && { since: formatTime(parseTime(creationTimestamp)) }),
    mend: removalOf(snapshot, need !== undefined),
  }
}

/** Why a backup may need the snapshot in the storage; undefined when none does. */
function needOf(backupName: string, { backups, locations, areAll }: PossibleOwners): string | undefined {
  if (backups.some(({ metadata }) => validLabelValue(metadata.name ?? '') === backupName)) {
    return 'there is one of its name, as when it came back from the bucket'
  }
  if (!areAll) return 'this account may not look at all namespaces, and another installation may have it'
  const away = locations.find(({ status }) => status?.phase !== 'Available' || !status.lastSyncedTime)
  if (away !== undefined) {
    const { namespace, name } = away.metadata
    return `storage location ${namespace}/${name}, which may have it, is not Available or was not looked through yet`
  }
  return locations.length === 0 ? 'there is no storage location to tell whether a bucket has it' : undefined
}

/** A left snapshot for people. */
export function leftSnapshotFinding({ snapshot, backup }: LeftSnapshot): Finding {
  const { namespace = '', name = '' } = snapshot.metadata
  const content = snapshot.status?.boundVolumeSnapshotContentName
  const bound = content ? `, with the VolumeSnapshotContent ${content},` : ''
  const keep = isKept(backup)
  const danger = keep ? ', which needs its snapshot in the storage' : ', which has no use for it'
  const { completionTimestamp } = backup.status ?? {}
  return {
    type: 'snapshot-object',
    subject: `VolumeSnapshot ${namespace}/${name}`,
    problem: `is left${bound} after the end of Backup ${backup.metadata.name}${danger}${ifUnbound(snapshot, keep)}`,
    ...(typeof completionTimestamp === 'string' && { since: completionTimestamp }),
    mend: removalOf(snapshot, keep),
  }
}

/**
 * The commands that remove the objects of a snapshot. A content that the snapshot does not tell of yet has the name that snapshot controllers give; where
 * it is not there, no command after the first is carried out.
 */
function removalOf({ metadata, spec, status }: VolumeSnapshot, keep: boolean): string {
  const { namespace = '', name = '', uid } = metadata
  const expected = spec.source.volumeSnapshotContentName ?? `snapcontent-${uid}`
  const content = status?.boundVolumeSnapshotContentName || (keep ? expected : undefined)
  return [
    ...(content ? [policyCommand(content, keep ? 'Retain' : 'Delete')] : []),
    ...(content && keep ? [`kubectl delete volumesnapshotcontent ${quoted(content)} --wait=false`] : []),
    `kubectl delete volumesnapshot ${quoted(name)} --namespace ${quoted(namespace)}`,
  ].join(' && ')
}

function ifUnbound({ status }: VolumeSnapshot, keep: boolean): string {
  if (!keep || status?.boundVolumeSnapshotContentName) return ''
  return '. Where there is no such VolumeSnapshotContent nothing was taken, and the last of these commands is enough'
}

function isKept({ status }: Backup): boolean {
  return status?.phase === 'Completed' || status?.phase === 'PartiallyFailed'
}

function policyCommand(content: string, policy: string): string {
  const patch = `'{"spec":{"deletionPolicy":"${policy}"}}'`
  return `kubectl patch volumesnapshotcontent ${quoted(content)} --type merge --patch ${patch}`
}
