import type { KubeClient, Unstructured } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'

/** The cluster-wide rights of service accounts. */
export interface RoleBindings {
  /** The ClusterRoleBindings that name the account and the ClusterRoles they give. Throws KubeError. */
  of(account: { namespace: string; name: string }, signal?: AbortSignal): Promise<ResourceIdentifier[]>
}

interface Rights {
  bindings: Set<string>
  roles: Set<string>
}

interface ClusterRoleBinding extends Unstructured {
  roleRef?: { name?: string }
  subjects?: { kind?: string; namespace?: string; name?: string }[] | null
}

const group = 'rbac.authorization.k8s.io'

/** Reads all ClusterRoleBindings when it is first asked, and never again. */
export function createRoleBindings(client: KubeClient): RoleBindings {
  let reading: Promise<ReadonlyMap<string, Rights>> | undefined
  return {
    async of({ namespace, name }, signal) {
      reading ??= readRights(client, signal)
      const rights = (await reading).get(`${namespace}/${name}`)
      if (rights === undefined) return []
      const named = (resource: string) => (item: string) => ({ group, resource, namespace: '', name: item })
      return [
        ...[...rights.bindings].sort().map(named('clusterrolebindings')),
        ...[...rights.roles].sort().map(named('clusterroles')),
      ]
    },
  }
}

async function readRights(client: KubeClient, signal?: AbortSignal): Promise<ReadonlyMap<string, Rights>> {
  const byAccount = new Map<string, Rights>()
  const type = await client.discovery.find(`clusterrolebindings.${group}`, { signal })
  if (type === undefined) return byAccount
  for await (const binding of client.resource(type).list({ signal })) {
    const { metadata, roleRef, subjects } = binding as ClusterRoleBinding
    for (const { kind, namespace, name } of subjects ?? []) {
      if (kind !== 'ServiceAccount') continue
      const rights = rightsOf(byAccount, `${namespace}/${name}`)
      if (metadata.name) rights.bindings.add(metadata.name)
      if (roleRef?.name) rights.roles.add(roleRef.name)
    }
  }
  return byAccount
}

function rightsOf(byAccount: Map<string, Rights>, account: string): Rights {
  const rights = byAccount.get(account) ?? { bindings: new Set(), roles: new Set() }
  byAccount.set(account, rights)
  return rights
}
