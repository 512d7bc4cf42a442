import { BackupStorageLocationKind } from '@lateen/api'
import { builtInKind, type KubeObject } from '@lateen/kube'
import { type NeededRight, rightsToApply } from './check-rights.ts'
import {
  ClusterRoleBindingKind,
  ClusterRoleKind,
  installedKind,
  type StoredBinding,
} from './installed-kinds.ts'

const clusterAdmin = 'cluster-admin'

/**
 * What installing these objects takes. Whether a role may be made that allows more than whoever makes it may do is not among it: only the
 * API server can compare the rules.
 */
export function rightsToInstall(
  objects: readonly KubeObject[],
  { namespace, waits }: { namespace: string; waits: boolean },
): NeededRight[] {
  const bindings = objects.filter(isBinding)
  const grantsAll = bindings.some(({ roleRef }) => roleRef?.name === clusterAdmin)
  const hasLocation = objects.some(({ kind }) => kind === BackupStorageLocationKind.kind)
  return [
    ...rightsToApply(objects),
    // One that is bound to another role makes room.
    ...bindings.map(binding => ({
      verb: 'delete',
      kind: installedKind(binding),
      namespace: binding.metadata.namespace,
    })),
    ...(grantsAll ? [{ verb: 'bind', kind: ClusterRoleKind, name: clusterAdmin }] : []),
    // Another choice of rights may have left one.
    ...(bindings.length === 0 ? [{ verb: 'get', kind: ClusterRoleBindingKind }] : []),
    ...(hasLocation ? [{ verb: 'list', kind: BackupStorageLocationKind, namespace }] : []),
    ...(waits
      ? [
          { verb: 'list', kind: builtInKind('Pod'), namespace },
          { verb: 'list', kind: builtInKind('ReplicaSet'), namespace },
        ]
      : []),
  ]
}

function isBinding(object: KubeObject): object is StoredBinding {
  return object.kind === 'ClusterRoleBinding' || object.kind === 'RoleBinding'
}
