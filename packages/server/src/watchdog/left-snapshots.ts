import {
  type Backup,
  BackupKind,
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

/** Such a snapshot for people. Where a backup of its name is there, as it is when it came back from the bucket, that may need what is in the storage. */
export function ownerlessSnapshotFinding(snapshot: VolumeSnapshot, backups: readonly Backup[]): Finding {
  const { namespace = '', name = '', labels, creationTimestamp } = snapshot.metadata
  const backupName = labels?.[labelNames.backupName] ?? ''
  const isNamed = backups.some(({ metadata }) => validLabelValue(metadata.name ?? '') === backupName)
  const needed = isNamed ? ', but one of its name, which may need the snapshot in the storage' : ''
  return {
    type: 'snapshot-object',
    subject: `VolumeSnapshot ${namespace}/${name}`,
    problem: `was taken for a Backup ${backupName} which is not in this namespace any more${needed}; unless it is of another installation, nobody removes it`,
    ...(creationTimestamp && { since: formatTime(parseTime(creationTimestamp)) }),
    mend: removalOf(snapshot, isNamed),
  }
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
    problem: `is left${bound} after the end of Backup ${backup.metadata.name}${danger}`,
    ...(typeof completionTimestamp === 'string' && { since: completionTimestamp }),
    mend: removalOf(snapshot, keep),
  }
}

/** The commands that remove the objects of a snapshot. */
function removalOf({ metadata, status }: VolumeSnapshot, keep: boolean): string {
  const { namespace = '', name = '' } = metadata
  const content = status?.boundVolumeSnapshotContentName
  return [
    ...(content ? [policyCommand(content, keep ? 'Retain' : 'Delete')] : []),
    ...(content && keep ? [`kubectl delete volumesnapshotcontent ${quoted(content)} --wait=false`] : []),
    `kubectl delete volumesnapshot ${quoted(name)} --namespace ${quoted(namespace)}`,
  ].join(' && ')
}

function isKept({ status }: Backup): boolean {
  return status?.phase === 'Completed' || status?.phase === 'PartiallyFailed'
}

function policyCommand(content: string, policy: string): string {
  const patch = `'{"spec":{"deletionPolicy":"${policy}"}}'`
  return `kubectl patch volumesnapshotcontent ${quoted(content)} --type merge --patch ${patch}`
}
