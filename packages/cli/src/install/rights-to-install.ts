import { BackupStorageLocationKind } from '@lateen/api'
import { builtInKind, type KubeObject } from '@lateen/kube'
import { type NeededRight, rightsToApply } from './check-rights.ts'
import { ClusterRoleBindingKind, ClusterRoleKind, installedKind } from './installed-kinds.ts'
import type { WantedBinding } from './present-bindings.ts'
import { isAsWanted, sameRole } from './same-binding.ts'

const clusterAdmin = 'cluster-admin'

/**
 * What installing these objects takes, `bindings` being those among them: one that is there as it shall be takes no more than to look, so that
 * whoever may not grant rights can repeat an installation. Whether a role may be made that allows more than whoever makes it may do is not among it: only the
 * API server can compare the rules.
 */
export function rightsToInstall(
  objects: readonly KubeObject[],
  { namespace, waits, bindings }: { namespace: string; waits: boolean; bindings: readonly WantedBinding[] },
): NeededRight[] {
  const changed = bindings.filter(({ wanted, present }) => !present || !isAsWanted(present, wanted))
  const grantsAll = changed.some(({ wanted: { roleRef } }) => roleRef?.name === clusterAdmin)
  const inTheWay = changed.filter(
    ({ wanted, present }) => present && !sameRole(present.roleRef, wanted.roleRef),
  )
  const hasLocation = objects.some(({ kind }) => kind === BackupStorageLocationKind.kind)
  return [
    ...rightsToApply(objects),
    // One that is bound to another role makes room.
    ...inTheWay.map(({ wanted }) => ({
      verb: 'delete',
      kind: installedKind(wanted),
      namespace: wanted.metadata.namespace,
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
