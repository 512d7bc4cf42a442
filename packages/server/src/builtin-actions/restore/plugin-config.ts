import { labelNames } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'
import { RestoreActionError } from './restore-action-error.ts'

interface ConfigMap extends KubeObject {
  data?: Record<string, string> | null
}

const configMapType = builtInKind<ConfigMap>('ConfigMap')

/** The entries of an action's ConfigMap by name, sorted; empty when there is none. */
export type PluginConfig = (signal?: AbortSignal) => Promise<ReadonlyMap<string, string>>

export interface PluginConfigOptions {
  client: KubeClient
  /** Where the server runs. */
  namespace: string
  /** The name of the action, which is a label of the ConfigMap. */
  action: string
}

/**
 * The ConfigMap that configures a restore action, read when it is first asked for, and again only if that failed. Asking throws KubeError, and
 * RestoreActionError when there are several ConfigMaps.
 */
export function createPluginConfig({ client, namespace, action }: PluginConfigOptions): PluginConfig {
  let reading: Promise<ReadonlyMap<string, string>> | undefined
  const read = async (signal?: AbortSignal) => {
    const labelSelector = `${labelNames.pluginConfig},${action}=RestoreItemAction`
    const found = await client.resource(configMapType, namespace).list({ labelSelector, signal }).toArray()
    if (found.length > 1) throw ambiguous(labelSelector, found)
    const entries = Object.entries(found[0]?.data ?? {})
    return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
  return signal => {
    if (reading !== undefined) return reading
    const started = read(signal)
    reading = started
    started.catch(() => {
      reading = undefined
    })
    return started
  }
}

function ambiguous(selector: string, found: readonly ConfigMap[]): RestoreActionError {
  const names = found.map(({ metadata }) => metadata.name).join(' ')
  return new RestoreActionError(
    'PLUGIN_CONFIG_AMBIGUOUS',
    `found more than one ConfigMap matching label selector ${JSON.stringify(selector)}: [${names}]`,
    { hint: 'leave the labels on one of them' },
  )
}
