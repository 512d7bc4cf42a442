import type { KubeClient } from '@lateen/kube'
import type { BackupItemAction, ItemBlockAction, Registered } from '@lateen/plugin'
import { claimAction, claimBlockAction } from './claim-action.ts'
import { createClaimNeighbours } from './claim-neighbours.ts'
import type { CsiBackupOptions } from './csi/claim-backup-action.ts'
import { csiBackupActions } from './csi/csi-backup-actions.ts'
import { podAction, podBlockAction } from './pod-action.ts'
import { remapCrdVersionAction } from './remap-crd-version-action.ts'
import { createRoleBindings } from './role-bindings.ts'
import { serviceAccountAction, serviceAccountBlockAction } from './service-account-action.ts'

export interface BuiltInBackupActionOptions {
  client: KubeClient
  /** The feature `EnableAPIGroupVersions`: definitions are then stored in every version and need no remapping. */
  apiGroupVersions?: boolean
  /** Absent: no snapshots are taken through CSI. */
  csi?: Omit<CsiBackupOptions, 'client'> | undefined
}

export interface BuiltInBackupActions {
  backupItemActions: Registered<BackupItemAction>[]
  itemBlockActions: Registered<ItemBlockAction>[]
}

/**
 * The actions that come with the server, under the names that Velero's have and in the order in which Velero runs them.
 * Made anew for each backup: what they list (role bindings, pods of claims) is read once and kept as long as they are.
 */
export function builtInBackupActions({
  client,
  apiGroupVersions = false,
  csi,
}: BuiltInBackupActionOptions): BuiltInBackupActions {
  const roleBindings = createRoleBindings(client)
  const neighbours = createClaimNeighbours(client)
  const remap = { name: 'velero.io/crd-remap-version', action: remapCrdVersionAction(client) }
  return {
    backupItemActions: [
      ...(apiGroupVersions ? [] : [remap]),
      { name: 'velero.io/pod', action: podAction },
      { name: 'velero.io/pv', action: claimAction },
      { name: 'velero.io/service-account', action: serviceAccountAction(roleBindings) },
      ...(csi === undefined ? [] : csiBackupActions({ ...csi, client })),
    ],
    itemBlockActions: [
      { name: 'velero.io/pod', action: podBlockAction },
      { name: 'velero.io/pvc', action: claimBlockAction(neighbours) },
      { name: 'velero.io/service-account', action: serviceAccountBlockAction(roleBindings) },
    ],
  }
}
