import { type InstallMetadata, installMetadata } from './labels.ts'

interface ServiceAccount {
  apiVersion: string
  kind: string
  metadata: InstallMetadata & { annotations?: Readonly<Record<string, string>> }
}

/** The namespace, open to the privileged pods that file system backups need. */
export function namespaceObject(name: string): object {
  const metadata = installMetadata(name)
  for (const mode of ['enforce', 'audit', 'warn']) {
    metadata.labels[`pod-security.kubernetes.io/${mode}`] = 'privileged'
    metadata.labels[`pod-security.kubernetes.io/${mode}-version`] = 'latest'
  }
  return { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} }
}

/** Binds the service account to cluster-admin: a backup reads, and a restore writes, whatever there is. */
export function clusterRoleBindingObject(namespace: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: installMetadata(namespace === 'velero' ? 'velero' : `velero-${namespace}`),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'velero', namespace }],
  }
}

export function serviceAccountObject(
  namespace: string,
  annotations: Readonly<Record<string, string>>,
  name = 'velero',
): ServiceAccount {
  const metadata = installMetadata(name, namespace)
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
  }
}

/** The Secret `cloud-credentials` with the file's bytes under `cloud`. */
export function secretObject(namespace: string, bytes: Uint8Array): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: installMetadata('cloud-credentials', namespace),
    type: 'Opaque',
    data: { cloud: Buffer.from(bytes).toString('base64') },
  }
}
