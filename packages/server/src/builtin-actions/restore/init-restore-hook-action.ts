import type { ActionItem, Registered, RestoreItemAction } from '@lateen/plugin'
import {
  type InitContainer,
  initContainersOf,
  withInitContainers,
} from '../../hooks/restore-init-containers.ts'
import { specHooksOf } from '../../hooks/restore-spec-hooks.ts'

interface Pod extends ActionItem {
  spec?: { initContainers?: InitContainer[] | null }
}

export interface InitRestoreHookOptions {
  /** A UUID, random. */
  newUid(): string
}

/** `velero.io/init-restore-hook`: pods get the init containers of hooks, chosen by the namespace that they are restored to. */
export function initRestoreHookAction({ newUid }: InitRestoreHookOptions): Registered<RestoreItemAction> {
  const action: RestoreItemAction = {
    appliesTo: async () => ({ includedResources: ['pods'] }),
    async execute({ item, restore }) {
      const { metadata, spec } = item as Pod
      const { namespace = '', labels, annotations = {} } = metadata
      const mapping = new Map(Object.entries(restore.spec.namespaceMapping ?? {}))
      const added = initContainersOf({
        annotations,
        place: { namespace: mapping.get(namespace) ?? namespace, labels },
        specHooks: specHooksOf(restore.spec),
        newUid,
      })
      if (spec !== undefined && added.length > 0) {
        spec.initContainers = withInitContainers(spec.initContainers ?? [], added)
      }
      return { item }
    },
  }
  return { name: 'velero.io/init-restore-hook', action }
}
