import type { ActionItem } from '@lateen/plugin'
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
