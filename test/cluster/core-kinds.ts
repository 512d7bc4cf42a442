import type { KubeObject, ResourceType } from '@lateen/kube'

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

export const ConfigMapKind: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}

export const NamespaceKind: ResourceType<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}
