import type { ActionItem, RestoreItemAction } from '@lateen/plugin'

interface RoleBinding extends ActionItem {
  subjects?: { namespace?: string }[] | null
}

/** `velero.io/role-bindings`: subjects of bindings are where their namespaces are restored to. */
export const roleBindingsAction = subjectsAction('rolebindings')

/** `velero.io/cluster-role-bindings`: the same for bindings without a namespace. */
export const clusterRoleBindingsAction = subjectsAction('clusterrolebindings')

function subjectsAction(resource: string): RestoreItemAction {
  return {
    appliesTo: async () => ({ includedResources: [resource] }),
    async execute({ item, restore }) {
      const mapping = restore.spec.namespaceMapping ?? {}
      for (const subject of (item as RoleBinding).subjects ?? []) {
        const { namespace } = subject
        const target =
          namespace !== undefined && Object.hasOwn(mapping, namespace) ? mapping[namespace] : undefined
        if (target !== undefined) subject.namespace = target
      }
      return { item }
    },
  }
}
