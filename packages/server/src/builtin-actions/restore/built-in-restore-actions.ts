import type { KubeClient } from '@lateen/kube'
import type { Registered, RestoreItemAction } from '@lateen/plugin'
import { dataUploadRestoreAction } from '../csi/data-upload-restore-action.ts'
import { apiServiceAction } from './api-service-action.ts'
import { changeImageNameAction } from './change-image-name-action.ts'
import { changeStorageClassAction } from './change-storage-class-action.ts'
import { claimAction } from './claim-action.ts'
import { jobAction } from './job-action.ts'
import { createPluginConfig } from './plugin-config.ts'
import { claimsOfPodAction, podAction } from './pod-action.ts'
import { preserveFieldsAction } from './preserve-fields-action.ts'
import { clusterRoleBindingsAction, roleBindingsAction } from './role-bindings-action.ts'
import { secretAction } from './secret-action.ts'
import { serviceAccountAction } from './service-account-action.ts'
import { serviceAction } from './service-action.ts'
import { webhookConfigurationAction } from './webhook-configuration-action.ts'

export interface BuiltInRestoreActionOptions {
  client: KubeClient
  /** Where the server runs, and the ConfigMaps of the actions are. */
  namespace: string
  /** Actions of other parts of the server that have a place among these, such as `velero.io/init-restore-hook`. */
  others?: readonly Registered<RestoreItemAction>[]
}

/**
 * The actions that come with the server, under the names that Velero's have and in the order in which Velero runs them, which is that
 * of their names. Made anew for each restore: what they read (ConfigMaps, accounts, storage classes) is kept as long as they are.
 */
export function builtInRestoreActions({
  client,
  namespace,
  others = [],
}: BuiltInRestoreActionOptions): Registered<RestoreItemAction>[] {
  const config = (action: string) => createPluginConfig({ client, namespace, action })
  const [changeImageName, changeStorageClass] = [
    'velero.io/change-image-name',
    'velero.io/change-storage-class',
  ]
  const actions: Registered<RestoreItemAction>[] = [
    { name: 'velero.io/add-pvc-from-pod', action: claimsOfPodAction },
    { name: 'velero.io/admission-webhook-configuration', action: webhookConfigurationAction },
    { name: 'velero.io/apiservice', action: apiServiceAction },
    { name: changeImageName, action: changeImageNameAction(config(changeImageName)) },
    { name: changeStorageClass, action: changeStorageClassAction(config(changeStorageClass), client) },
    { name: 'velero.io/cluster-role-bindings', action: clusterRoleBindingsAction },
    { name: 'velero.io/crd-preserve-fields', action: preserveFieldsAction },
    { name: 'velero.io/dataupload', action: dataUploadRestoreAction },
    { name: 'velero.io/job', action: jobAction },
    { name: 'velero.io/pod', action: podAction },
    { name: 'velero.io/pvc', action: claimAction },
    { name: 'velero.io/role-bindings', action: roleBindingsAction },
    { name: 'velero.io/secret', action: secretAction(client) },
    { name: 'velero.io/service', action: serviceAction },
    { name: 'velero.io/service-account', action: serviceAccountAction },
    ...others,
  ]
  return actions.sort((a, b) => (a.name < b.name ? -1 : 1))
}
