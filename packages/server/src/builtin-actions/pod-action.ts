import type { ActionItem, BackupItemAction, ItemBlockAction, ResourceIdentifier } from '@lateen/plugin'

/** As much of a Pod as tells what belongs to it. */
interface PodParts {
  spec?: {
    priorityClassName?: string
    volumes?: { persistentVolumeClaim?: { claimName?: string } | null }[] | null
  }
}

const appliesTo = async () => ({ includedResources: ['pods'] })

/** The priority class and the claims that a pod names. */
export function relatedToPod(pod: ActionItem): ResourceIdentifier[] {
  const { spec } = pod as ActionItem & PodParts
  const namespace = pod.metadata.namespace ?? ''
  const related: ResourceIdentifier[] = []
  if (spec?.priorityClassName) {
    const name = spec.priorityClassName
    related.push({ group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name })
  }
  for (const { persistentVolumeClaim } of spec?.volumes ?? []) {
    const name = persistentVolumeClaim?.claimName
    if (name) related.push({ group: '', resource: 'persistentvolumeclaims', namespace, name })
  }
  return related
}

/** `velero.io/pod`: a pod takes its claims and its priority class along. */
export const podAction: BackupItemAction = {
  appliesTo,
  execute: async ({ item }) => ({ item, unchanged: true, additionalItems: relatedToPod(item) }),
}

/** `velero.io/pod`: a pod is in one block with its claims and its priority class. */
export const podBlockAction: ItemBlockAction = {
  appliesTo,
  getRelatedItems: async ({ item }) => relatedToPod(item),
}
