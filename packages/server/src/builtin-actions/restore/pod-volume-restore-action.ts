import { isRestoreWaitState, type PodVolumeBackup, restoreWaitNames } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'
import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import type { PluginConfig } from './plugin-config.ts'
import { waitContainer, waitStateVolume } from './wait-container.ts'

interface Container {
  name: string
  securityContext?: object
}

interface PodItem extends ActionItem {
  spec?: {
    volumes?: readonly { name: string; emptyDir?: object | null }[] | null
    containers?: readonly Container[]
    initContainers?: readonly Container[] | null
    os?: { name?: string }
    nodeSelector?: Record<string, string>
    securityContext?: { runAsUser?: number; runAsGroup?: number; runAsNonRoot?: boolean }
  }
}

interface Deployment extends KubeObject {
  spec: { template: { spec: { containers: readonly { image: string }[] } } }
}

const DeploymentKind = builtInKind<Deployment>('Deployment')

export interface PodVolumeRestoreActionOptions {
  client: KubeClient
  /** Where the server runs. */
  namespace: string
  config: PluginConfig
}

/**
 * `velero.io/pod-volume-restore`: a pod whose volumes are restored from files waits for them in an init container. It goes by what the
 * restore goes by, and not by the cluster's objects: those may be gone, and the pod would start on empty volumes.
 */
export function podVolumeRestoreAction(options: PodVolumeRestoreActionOptions): RestoreItemAction {
  return {
    appliesTo: async () => ({ includedResources: ['pods'] }),
    async execute({ item, itemFromBackup, restore, podVolumeBackups = [], signal }) {
      const pod = item as PodItem
      const { spec = {} } = pod
      const of = {
        namespace: itemFromBackup.metadata.namespace ?? '',
        name: itemFromBackup.metadata.name ?? '',
      }
      const volumes = volumesWithData(pod, of, podVolumeBackups)
      const waiting =
        volumes.length === 0
          ? []
          : [
              waitContainer({
                pod: spec,
                volumes,
                restoreUid: restore.metadata.uid ?? '',
                image: await serverImage(options, signal),
                config: await options.config(signal),
              }),
            ]
      return { item: waitingWith(pod, waiting) }
    },
  }
}

/** The same where nobody restores files: a pod that has waited for an earlier restore would wait for ever. */
export const noPodVolumeWaitAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['pods'] }),
  execute: async ({ item }) => ({ item: waitingWith(item as PodItem, []) }),
}

/** The pod with these containers that wait, and with nothing of an earlier restore. */
function waitingWith(pod: PodItem, waiting: readonly object[]): ActionItem {
  const { initContainers, volumes, ...spec } = pod.spec ?? {}
  const { container, oldContainer } = restoreWaitNames
  const others = (initContainers ?? []).filter(({ name }) => name !== container && name !== oldContainer)
  const containers = [...waiting, ...others]
  const own = (volumes ?? []).filter(volume => !isRestoreWaitState(volume))
  const all = waiting.length > 0 ? [...own, waitStateVolume] : own
  return {
    ...pod,
    spec: {
      ...spec,
      ...(containers.length > 0 && { initContainers: containers }),
      ...(all.length > 0 && { volumes: all }),
    },
  } as ActionItem
}

/** The volumes that the pod still has and of which there are files. */
function volumesWithData(
  { spec }: PodItem,
  source: { namespace: string; name: string },
  backups: readonly PodVolumeBackup[],
): string[] {
  const volumes = (spec?.volumes ?? []).filter(volume => !isRestoreWaitState(volume))
  const restorable = backups.filter(
    ({ spec: of, status }) =>
      of.pod.namespace === source.namespace &&
      of.pod.name === source.name &&
      status?.phase === 'Completed' &&
      Boolean(status.snapshotID),
  )
  const backedUp = new Set(restorable.map(({ spec: of }) => of.volume))
  return volumes.map(({ name }) => name).filter(name => backedUp.has(name))
}

/** The image of the server, whose helper waits. Undefined when there is no Deployment: the ConfigMap must name one then. */
async function serverImage(
  { client, namespace }: PodVolumeRestoreActionOptions,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const found = await client
    .resource(DeploymentKind, namespace)
    .get('velero', { signal })
    .catch(unlessNotFound)
  return found?.spec.template.spec.containers[0]?.image
}
