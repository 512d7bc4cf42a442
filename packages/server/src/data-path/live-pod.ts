import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'
import { type Pod, PodKind } from './mover-state.ts'

/** A pod as an object names it. */
export interface PodReference {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
}

/**
 * Throws `POD_NOT_FOUND` unless the pod is there and the kubelet keeps its volumes for it: where a pod has ended or is about to go, a
 * folder may be half empty already, and nothing shows that. Throws KubeErrors.
 */
export async function requireLivePod(
  { namespace = '', name = '', uid }: PodReference,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<void> {
  const pod = await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound)
  if (pod !== undefined && (!uid || pod.metadata.uid === uid) && keepsVolumes(pod)) return
  const reason = pod === undefined || keepsVolumes(pod) ? 'is gone' : 'has ended'
  throw new DataPathError('POD_NOT_FOUND', {
    reason: `the pod ${namespace}/${name} ${reason}, and what is in its volumes may be gone or not be whole`,
    hint: 'Try again with the pod that took its place',
  })
}

/** Whether a pod still has all that was mounted for it. */
export function keepsVolumes({ metadata, status }: Pod): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false
  if (metadata.deletionTimestamp === undefined) return true
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return containers.some(({ state }) => state?.running !== undefined)
}
