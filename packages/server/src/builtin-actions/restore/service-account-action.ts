import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { removeFields } from './remove-fields.ts'

interface ServiceAccount extends ActionItem {
  secrets?: { name?: string }[] | null
}

/** `velero.io/service-account`: an account loses its token secrets, which old clusters make anew. */
export const serviceAccountAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['serviceaccounts'] }),
  async execute({ item }) {
    const account = item as ServiceAccount
    const tokens = `${item.metadata.name ?? ''}-token-`
    const kept = (account.secrets ?? []).filter(({ name = '' }) => !name.startsWith(tokens))
    if (kept.length === 0) removeFields(account, ['secrets'])
    else account.secrets = kept
    return { item }
  },
}
