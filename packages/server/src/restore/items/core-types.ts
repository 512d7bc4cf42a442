import type { ResourceType, Unstructured } from '@lateen/kube'

/** Types that a restore looks at for its own sake. */
export const namespaceType: ResourceType<Unstructured> = coreType('Namespace', 'namespaces', false)
export const volumeType: ResourceType<Unstructured> = coreType('PersistentVolume', 'persistentvolumes', false)
export const claimType: ResourceType<Unstructured> = coreType(
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
  true,
)

function coreType(kind: string, plural: string, namespaced: boolean): ResourceType<Unstructured> {
  return { group: '', version: 'v1', kind, plural, namespaced }
}
