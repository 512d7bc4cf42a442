import { builtInKind, type KubeClient } from '@lateen/kube'
import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { removeEntries } from './remove-fields.ts'

interface Secret extends ActionItem {
  type?: string
}

const accountType = builtInKind('ServiceAccount')

/**
 * `velero.io/secret`: a token of a service account is left out when old clusters make it by themselves, as its name tells; others
 * lose their contents, which the cluster fills in anew. The accounts of a namespace are listed once.
 */
export function secretAction(client: KubeClient): RestoreItemAction {
  const accounts = new Map<string, Promise<readonly string[]>>()
  const accountsIn = (namespace: string, signal?: AbortSignal) => {
    const known = accounts.get(namespace)
    if (known !== undefined) return known
    const reading = listAccounts(client, namespace, signal)
    accounts.set(namespace, reading)
    // What failed is tried again for the next secret.
    reading.catch(() => accounts.delete(namespace))
    return reading
  }
  return {
    appliesTo: async () => ({ includedResources: ['secrets'] }),
    async execute({ item, signal }) {
      if ((item as Secret).type !== 'kubernetes.io/service-account-token') return { item }
      const { name = '', namespace = '' } = item.metadata
      const names = await accountsIn(namespace, signal)
      if (names.some(account => name.startsWith(`${account}-token-`))) return { item, skip: true }
      removeEntries(item.metadata, 'annotations', ['kubernetes.io/service-account.uid'])
      removeEntries(item, 'data', ['token', 'ca.crt'])
      return { item }
    },
  }
}

async function listAccounts(
  client: KubeClient,
  namespace: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const accounts = await client.resource(accountType, namespace).list({ signal }).toArray()
  return accounts.map(({ metadata }) => metadata.name ?? '')
}
