import type { KubeObject } from '@lateen/kube'

/** Whether an object is there and being deleted. */
export function isGoing(object: Pick<KubeObject, 'metadata'> | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}
