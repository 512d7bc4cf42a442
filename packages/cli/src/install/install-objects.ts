import { accountObjects } from './account-objects.ts'
import { namespaceObject, secretObject } from './cluster-objects.ts'
import { customResourceDefinitions } from './custom-resource-definitions.ts'
import { daemonSetObject } from './daemon-set.ts'
import { deploymentObject } from './deployment.ts'
import { downloadServiceObject } from './filesystem-volume.ts'
import type { InstallOptions } from './install-options.ts'
import { backupStorageLocationObject, volumeSnapshotLocationObject } from './location-objects.ts'

/** Every object of an installation, in the order in which they can be created. */
export function installObjects(options: InstallOptions): object[] {
  const { namespace, nodeAgent } = options
  const objects = [
    ...customResourceDefinitions(),
    namespaceObject(namespace),
    ...accountObjects(options),
    options.secret === undefined ? undefined : secretObject(namespace, options.secret),
    backupStorageLocationObject(options),
    volumeSnapshotLocationObject(options),
    downloadServiceObject(options),
    deploymentObject(options),
    nodeAgent.linux ? daemonSetObject(options, 'linux') : undefined,
    nodeAgent.windows ? daemonSetObject(options, 'windows') : undefined,
  ]
  return objects.filter(object => object !== undefined)
}
