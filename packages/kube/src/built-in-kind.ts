import type { KubeObject, ResourceType } from './object.ts'

type Place = Pick<ResourceType, 'group' | 'version' | 'plural' | 'namespaced'>

const core = (plural: string, namespaced = true): Place => ({ group: '', version: 'v1', plural, namespaced })
const of = (group: string, plural: string, namespaced = true): Place => ({
  ...{ group, version: 'v1', plural, namespaced },
})
const rbac = 'rbac.authorization.k8s.io'

/** Kinds of Kubernetes itself that Lateen reads or writes by name. */
const places = {
  ClusterRole: of(rbac, 'clusterroles', false),
  ClusterRoleBinding: of(rbac, 'clusterrolebindings', false),
  ConfigMap: core('configmaps'),
  CustomResourceDefinition: of('apiextensions.k8s.io', 'customresourcedefinitions', false),
  DaemonSet: of('apps', 'daemonsets'),
  Deployment: of('apps', 'deployments'),
  Event: core('events'),
  Job: of('batch', 'jobs'),
  Lease: of('coordination.k8s.io', 'leases'),
  Namespace: core('namespaces', false),
  Node: core('nodes', false),
  PersistentVolume: core('persistentvolumes', false),
  PersistentVolumeClaim: core('persistentvolumeclaims'),
  Pod: core('pods'),
  ReplicaSet: of('apps', 'replicasets'),
  Role: of(rbac, 'roles'),
  RoleBinding: of(rbac, 'rolebindings'),
  Secret: core('secrets'),
  SelfSubjectAccessReview: of('authorization.k8s.io', 'selfsubjectaccessreviews', false),
  Service: core('services'),
  ServiceAccount: core('serviceaccounts'),
  StorageClass: of('storage.k8s.io', 'storageclasses', false),
} as const satisfies Record<string, Place>

export type BuiltInKind = keyof typeof places

/** All of them. */
export const builtInKinds = Object.keys(places) as BuiltInKind[]

/** Where objects of a kind of Kubernetes itself live. The caller says, as the type, which of their fields it reads. */
export function builtInKind<T extends KubeObject = KubeObject>(kind: BuiltInKind): ResourceType<T> {
  return { kind, ...places[kind] }
}
