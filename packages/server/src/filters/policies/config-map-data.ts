import { builtInKind, type KubeClient, type KubeObject, unlessNotFound } from '@lateen/kube'

interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

const ConfigMapKind = builtInKind<ConfigMap>('ConfigMap')

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
