import { type Backup, BackupKind, isTerminal, labelNames } from '@lateen/api'
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
    mend: [
      ...(content ? [policyCommand(content, keep ? 'Retain' : 'Delete')] : []),
      ...(content && keep ? [`kubectl delete volumesnapshotcontent ${quoted(content)} --wait=false`] : []),
      `kubectl delete volumesnapshot ${quoted(name)} --namespace ${quoted(namespace)}`,
    ].join(' && '),
  }
}

function isKept({ status }: Backup): boolean {
  return status?.phase === 'Completed' || status?.phase === 'PartiallyFailed'
}

function policyCommand(content: string, policy: string): string {
  const patch = `'{"spec":{"deletionPolicy":"${policy}"}}'`
  return `kubectl patch volumesnapshotcontent ${quoted(content)} --type merge --patch ${patch}`
}
