import type { ActionItem, ResourceIdentifier, RestoreItemAction } from '@lateen/plugin'
import { removeFields } from './remove-fields.ts'

interface Named {
  name?: string
}

interface Container {
  volumeMounts?: Named[] | null
}

interface Pod extends ActionItem {
  spec?: {
    serviceAccountName?: string
    priorityClassName?: string
    volumes?: (Named & { persistentVolumeClaim?: { claimName?: string } | null })[] | null
    containers?: Container[] | null
    initContainers?: Container[] | null
  }
}

const appliesTo = async () => ({ includedResources: ['pods'] })

/**
 * `velero.io/pod`: a pod may run on any node, and loses the volumes with tokens that old clusters added to it: they are
 * added anew. Its priority class comes first.
 */
export const podAction: RestoreItemAction = {
  appliesTo,
  async execute({ item }) {
    const { spec } = item as Pod
    if (spec === undefined) return { item }
    removeFields(spec, ['nodeName', 'priority'])
    const tokens = `${spec.serviceAccountName ?? ''}-token-`
    dropNamed(spec, 'volumes', tokens)
    for (const container of spec.containers ?? []) dropNamed(container, 'volumeMounts', tokens)
    for (const container of spec.initContainers ?? []) dropNamed(container, 'volumeMounts', tokens)
    const name = spec.priorityClassName
    if (!name) return { item }
    const priorityClass = { group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name }
    return { item, additionalItems: [priorityClass] }
  },
}

/** `velero.io/add-pvc-from-pod`: the claims of a pod come before it. */
export const claimsOfPodAction: RestoreItemAction = {
  appliesTo,
  async execute({ item }) {
    const namespace = item.metadata.namespace ?? ''
    const additionalItems: ResourceIdentifier[] = []
    for (const { persistentVolumeClaim } of (item as Pod).spec?.volumes ?? []) {
      const name = persistentVolumeClaim?.claimName
      if (name) additionalItems.push({ group: '', resource: 'persistentvolumeclaims', namespace, name })
    }
    return { item, additionalItems }
  },
}

/** Drops elements of a list by the beginning of their names, and the list when nothing is left in it. */
function dropNamed<Field extends string>(
  from: { [field in Field]?: Named[] | null },
  field: Field,
  prefix: string,
): void {
  const kept = (from[field] ?? []).filter(({ name = '' }) => !name.startsWith(prefix))
  if (kept.length === 0) removeFields(from, [field])
  else from[field] = kept
}
