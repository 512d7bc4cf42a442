import { builtInKind, type KubeObject } from '@lateen/kube'

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

export const ConfigMapKind = builtInKind<ConfigMap>('ConfigMap')

export const NamespaceKind = builtInKind('Namespace')
