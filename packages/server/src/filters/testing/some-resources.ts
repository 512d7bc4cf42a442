import type { DiscoveredResource } from '@lateen/kube'

const allVerbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']

interface Described {
  group?: string
  version?: string
  kind: string
  plural: string
  shortNames?: readonly string[]
  verbs?: readonly string[]
}

function inNamespaces(described: Described): DiscoveredResource {
  return resource(described, true)
}

function inCluster(described: Described): DiscoveredResource {
  return resource(described, false)
}

function resource(described: Described, namespaced: boolean): DiscoveredResource {
  const { group = '', version = 'v1', kind, plural, shortNames = [], verbs = allVerbs } = described
  const singular = kind.toLowerCase()
  return {
    group,
    version,
    kind,
    plural,
    singular,
    namespaced,
    shortNames,
    verbs,
    categories: [],
    subresources: [],
  }
}

/** Some of what a cluster offers, in the order in which a server tells it. */
export const someResources: readonly DiscoveredResource[] = [
  inNamespaces({ kind: 'Binding', plural: 'bindings', verbs: ['create'] }),
  inNamespaces({ kind: 'ConfigMap', plural: 'configmaps', shortNames: ['cm'] }),
  inNamespaces({ kind: 'Event', plural: 'events', shortNames: ['ev'] }),
  inCluster({ kind: 'Namespace', plural: 'namespaces', shortNames: ['ns'] }),
  inCluster({ kind: 'PersistentVolume', plural: 'persistentvolumes', shortNames: ['pv'] }),
  inNamespaces({ kind: 'Pod', plural: 'pods', shortNames: ['po'] }),
  inNamespaces({ kind: 'Secret', plural: 'secrets' }),
  inNamespaces({ group: 'apps', kind: 'Deployment', plural: 'deployments', shortNames: ['deploy'] }),
  inNamespaces({ group: 'events.k8s.io', kind: 'Event', plural: 'events', shortNames: ['ev'] }),
  inCluster({ group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', plural: 'clusterroles' }),
  inCluster({ group: 'storage.k8s.io', kind: 'StorageClass', plural: 'storageclasses', shortNames: ['sc'] }),
  inCluster({
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
  }),
  inNamespaces({
    group: 'snapshot.storage.k8s.io',
    kind: 'VolumeSnapshot',
    plural: 'volumesnapshots',
    shortNames: ['vs'],
  }),
  inCluster({
    group: 'snapshot.storage.k8s.io',
    kind: 'VolumeSnapshotContent',
    plural: 'volumesnapshotcontents',
  }),
  inNamespaces({ group: 'metrics.k8s.io', kind: 'PodMetrics', plural: 'pods', verbs: ['get', 'list'] }),
  inNamespaces({ group: 'example.com', version: 'v2', kind: 'Widget', plural: 'widgets' }),
  inNamespaces({ group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' }),
]
