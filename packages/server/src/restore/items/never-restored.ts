import type { Restore } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { isTakenByBackup } from '../../csi/restored-pair-mark.ts'
import type { GroupResource } from '../../item/item.ts'

interface Finished extends ActionItem {
  status?: { phase?: string; completionTime?: string }
}

const mirrorPodAnnotation = 'kubernetes.io/config.mirror'

/** Pods and jobs that have come to their end are not begun again. */
export function isCompleted(groupResource: GroupResource, object: ActionItem): boolean {
  const { status } = object as Finished
  if (groupResource === 'pods') return status?.phase === 'Failed' || status?.phase === 'Succeeded'
  if (groupResource === 'jobs.batch') return (status?.completionTime ?? '') !== ''
  return false
}

/** A pod that a kubelet made of a file of its own, and would make again. */
export function isMirrorPod(groupResource: GroupResource, { metadata }: ActionItem): boolean {
  return groupResource === 'pods' && (metadata.annotations?.[mirrorPodAnnotation] ?? '') !== ''
}

/** A snapshot through CSI, or the content of one: its status tells of what it was bound to in its old cluster. */
export function isSnapshotObject(groupResource: GroupResource): boolean {
  return (
    groupResource === 'volumesnapshots.snapshot.storage.k8s.io' ||
    groupResource === 'volumesnapshotcontents.snapshot.storage.k8s.io'
  )
}

/** What stands for a snapshot of the backup. Where nobody restores from snapshots, restoring it as it is would take a new one. */
export function isSnapshotOfBackup(
  groupResource: GroupResource,
  { metadata }: ActionItem,
  restore: Restore,
): boolean {
  if (!isSnapshotObject(groupResource)) return false
  return groupResource.startsWith('volumesnapshotcontents.') || isTakenByBackup(metadata, restore)
}
