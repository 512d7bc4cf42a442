import { isForbidden, isNotFound, type KubeObject } from '@lateen/kube'
import type { InstallPorts } from './install-ports.ts'
import { installedKind, type StoredBinding } from './installed-kinds.ts'

/** A binding of an installation, and what the cluster has of its name. */
export interface WantedBinding {
  readonly wanted: StoredBinding
  readonly present: StoredBinding | undefined
}

/** The bindings among an installation's objects. One that must not be looked at counts as not there. Throws KubeErrors. */
export async function presentBindings(
  objects: readonly KubeObject[],
  { client, signal }: InstallPorts,
): Promise<WantedBinding[]> {
  return Promise.all(
    objects.filter(isBinding).map(async wanted => {
      const { name = '', namespace } = wanted.metadata
      const present = await client
        .resource(installedKind(wanted), namespace)
        .get(name, { signal })
        .catch((error: unknown) => {
          if (isNotFound(error) || isForbidden(error)) return undefined
          throw error
        })
      return { wanted, present }
    }),
  )
}

function isBinding(object: KubeObject): object is StoredBinding {
  return object.kind === 'ClusterRoleBinding' || object.kind === 'RoleBinding'
}
