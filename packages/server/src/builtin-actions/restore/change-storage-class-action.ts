import { builtInKind, type KubeClient } from '@lateen/kube'
import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import type { PluginConfig } from './plugin-config.ts'
import { RestoreActionError } from './restore-action-error.ts'

interface HasClass {
  storageClassName?: string | null
}

/** A claim, a volume or a StatefulSet. */
interface Storage extends ActionItem {
  spec?: HasClass & { volumeClaimTemplates?: { spec?: HasClass }[] | null }
}

const classType = builtInKind('StorageClass')

/**
 * `velero.io/change-storage-class`: claims, volumes and the claims of StatefulSets get the storage classes that the action's ConfigMap
 * has for theirs. A class that is not there is an error. A class that was found is not asked for again.
 */
export function changeStorageClassAction(config: PluginConfig, client: KubeClient): RestoreItemAction {
  const found = new Set<string>()
  const requireClass = async (name: string, signal?: AbortSignal) => {
    if (found.has(name)) return
    await client.resource(classType).get(name, { signal })
    found.add(name)
  }
  return {
    appliesTo: async () => ({
      includedResources: ['persistentvolumeclaims', 'persistentvolumes', 'statefulsets'],
    }),
    async execute({ item, signal }) {
      const changes = await config(signal)
      for (const spec of specsOf(item)) {
        const name = changes.get(spec.storageClassName ?? '')
        if (!spec.storageClassName || name === undefined) continue
        await requireClass(name, signal).catch(cause => {
          throw unreadable(name, spec.storageClassName, cause)
        })
        spec.storageClassName = name
      }
      return { item }
    },
  }
}

function specsOf({ kind, spec }: Storage): HasClass[] {
  if (spec === undefined) return []
  if (kind !== 'StatefulSet') return [spec]
  return (spec.volumeClaimTemplates ?? []).flatMap(template => template.spec ?? [])
}

function unreadable(name: string, old: string | null | undefined, cause: unknown): RestoreActionError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RestoreActionError(
    'STORAGE_CLASS_UNREADABLE',
    `the storage class ${name}, which takes the place of ${old}, cannot be read: ${reason}`,
    { hint: 'create the storage class, or correct the ConfigMap of velero.io/change-storage-class', cause },
  )
}
