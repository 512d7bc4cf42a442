import { type KubeClient, type KubeObject, type ResourceType, unlessNotFound } from '@lateen/kube'

interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

const ConfigMapKind: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}

export interface ConfigMapPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  signal: AbortSignal
}

/** The texts of a ConfigMap that a spec refers to; undefined when it names none, or one that does not exist. Throws other KubeErrors. */
export async function configMapData(
  name: string,
  { client, namespace, signal }: ConfigMapPorts,
): Promise<Record<string, string> | undefined> {
  if (name === '') return undefined
  const found = await client.resource(ConfigMapKind, namespace).get(name, { signal }).catch(unlessNotFound)
  return found && (found.data ?? {})
}
