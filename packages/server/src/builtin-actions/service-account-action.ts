import type { ActionItem, BackupItemAction, ItemBlockAction } from '@lateen/plugin'
import type { RoleBindings } from './role-bindings.ts'

const appliesTo = async () => ({ includedResources: ['serviceaccounts'] })

/** `velero.io/service-account`: an account takes the ClusterRoleBindings that name it and their ClusterRoles along. */
export function serviceAccountAction(roleBindings: RoleBindings): BackupItemAction {
  return {
    appliesTo,
    async execute({ item, signal }) {
      return { item, unchanged: true, additionalItems: await roleBindings.of(accountOf(item), signal) }
    },
  }
}

/** `velero.io/service-account`: an account is in one block with its ClusterRoleBindings and their ClusterRoles. */
export function serviceAccountBlockAction(roleBindings: RoleBindings): ItemBlockAction {
  return {
    appliesTo,
    getRelatedItems: ({ item, signal }) => roleBindings.of(accountOf(item), signal),
  }
}

function accountOf({ metadata }: ActionItem): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
}
