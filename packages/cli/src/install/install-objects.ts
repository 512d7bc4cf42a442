import {
  clusterRoleBindingObject,
  namespaceObject,
  secretObject,
  serviceAccountObject,
} from './cluster-objects.ts'
import { customResourceDefinitions } from './custom-resource-definitions.ts'
import { daemonSetObject } from './daemon-set.ts'
import { deploymentObject } from './deployment.ts'
import type { InstallOptions } from './install-options.ts'
import { backupStorageLocationObject, volumeSnapshotLocationObject } from './location-objects.ts'

/** Every object of an installation, in the order in which they can be created. */
export function installObjects(options: InstallOptions): object[] {
  const { namespace, nodeAgent } = options
  const account =
    options.serviceAccountName === undefined
      ? [
          clusterRoleBindingObject(namespace),
          serviceAccountObject(namespace, options.serviceAccountAnnotations),
        ]
      : []
  const objects = [
    ...customResourceDefinitions(),
    namespaceObject(namespace),
    ...account,
    options.secret === undefined ? undefined : secretObject(namespace, options.secret),
    backupStorageLocationObject(options),
    volumeSnapshotLocationObject(options),
    deploymentObject(options),
    nodeAgent.linux ? daemonSetObject(options, 'linux') : undefined,
    nodeAgent.windows ? daemonSetObject(options, 'windows') : undefined,
  ]
  return objects.filter(object => object !== undefined)
}
