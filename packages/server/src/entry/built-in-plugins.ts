import { randomUUID } from 'node:crypto'
import type { KubeClient } from '@lateen/kube'
import type { ObjectStoreFactory, Registered, RestoreItemAction } from '@lateen/plugin'
import {
  type BuiltInBackupActionOptions,
  builtInBackupActions,
} from '../builtin-actions/built-in-backup-actions.ts'
import { csiRestoreActions } from '../builtin-actions/csi/csi-restore-actions.ts'
import { builtInRestoreActions } from '../builtin-actions/restore/built-in-restore-actions.ts'
import { initRestoreHookAction } from '../builtin-actions/restore/init-restore-hook-action.ts'
import { createPluginConfig } from '../builtin-actions/restore/plugin-config.ts'
import {
  noPodVolumeWaitAction,
  podVolumeRestoreAction,
} from '../builtin-actions/restore/pod-volume-restore-action.ts'
import { type BuiltInPlugins, noBuiltInPlugins } from '../plugin-host/built-in-plugins.ts'
import { createDataDownloads } from '../volumes/data-downloads.ts'
import type { ServerOptions } from './server-options.ts'

export interface BuiltInPluginsOptions {
  client: KubeClient
  options: Pick<ServerOptions, 'namespace' | 'features'>
  objectStores?: Readonly<Record<string, ObjectStoreFactory>>
  /** Whether pods wait for volumes that are restored from files. They do where there may be node agents. */
  podVolumes?: boolean
  /** Absent: no snapshots are taken through CSI, and none restored. */
  csi?: BuiltInBackupActionOptions['csi']
}

/** Everything that comes with the server, for one session. */
export function builtInPlugins({
  client,
  options,
  objectStores = {},
  podVolumes = false,
  csi,
}: BuiltInPluginsOptions): BuiltInPlugins {
  const { namespace, features } = options
  const apiGroupVersions = features.includes('EnableAPIGroupVersions')
  const hooks = initRestoreHookAction({ newUid: randomUUID })
  const waiting = podVolumes ? waitForPodVolumes({ client, namespace }) : doNotWaitForPodVolumes
  return {
    ...noBuiltInPlugins,
    ...builtInBackupActions({ client, apiGroupVersions, csi }),
    restoreItemActions: builtInRestoreActions({
      ...{ client, namespace },
      others: [
        hooks,
        waiting,
        ...(csi ? csiRestoreActions({ client, downloads: createDataDownloads({ client }) }) : []),
      ],
    }),
    objectStores,
  }
}

/** The action that makes pods wait for volumes that are restored from files. The namespace is the server's. */
export function waitForPodVolumes(place: {
  client: KubeClient
  namespace: string
}): Registered<RestoreItemAction> {
  const config = createPluginConfig({ ...place, action: waitName })
  return { name: waitName, action: podVolumeRestoreAction({ ...place, config }) }
}

const waitName = 'velero.io/pod-volume-restore'

/** The action that takes away what pods have waited with for an earlier restore. */
export const doNotWaitForPodVolumes: Registered<RestoreItemAction> = {
  name: waitName,
  action: noPodVolumeWaitAction,
}
