import { allKinds } from '@lateen/api'
import { builtInKind, type KubeObject, type ResourceType, type Unstructured } from '@lateen/kube'

/** A workload of an installation, as far as it is looked at. */
export interface Workload extends KubeObject {
  spec?: {
    replicas?: number
    selector?: { matchLabels?: Record<string, string> }
    template?: {
      spec?: { containers?: WorkloadContainer[]; volumes?: WorkloadVolume[]; serviceAccountName?: string }
    }
  }
  status?: WorkloadStatus
}

export interface WorkloadContainer {
  name: string
  image?: string
  args?: string[]
}

export interface WorkloadVolume {
  name: string
  persistentVolumeClaim?: { claimName: string }
}

/** What Deployments and DaemonSets tell about their pods. */
export interface WorkloadStatus {
  observedGeneration?: number
  replicas?: number
  updatedReplicas?: number
  availableReplicas?: number
  desiredNumberScheduled?: number
  updatedNumberScheduled?: number
  numberAvailable?: number
  conditions?: { type: string; status: string; reason?: string; message?: string }[]
}

export const NamespaceKind = builtInKind<StoredNamespace>('Namespace')
export const ClaimKind = builtInKind<Unstructured>('PersistentVolumeClaim')
export const ConfigMapKind = builtInKind<KubeObject & { data?: Record<string, string> }>('ConfigMap')
export const DeploymentKind = builtInKind<Workload>('Deployment')
export const DaemonSetKind = builtInKind<Workload>('DaemonSet')
export const ClusterRoleKind = builtInKind<Unstructured>('ClusterRole')
export const ClusterRoleBindingKind = builtInKind<StoredBinding>('ClusterRoleBinding')

/** The kinds, besides velero.io's and their definitions, that objects of an installation have. */
const otherKinds: readonly ResourceType<KubeObject>[] = [
  NamespaceKind,
  ClusterRoleKind,
  ClusterRoleBindingKind,
  builtInKind('Role'),
  builtInKind('RoleBinding'),
  builtInKind('ServiceAccount'),
  builtInKind('Secret'),
  ConfigMapKind,
  builtInKind('Service'),
  builtInKind('Lease'),
  builtInKind('Job'),
  DeploymentKind,
  DaemonSetKind,
]

/** Kinds of things in the namespace that an installation consists of or makes, without velero.io's. */
export const kindsInNamespace = otherKinds.filter(kind => kind.namespaced)

/** Where objects of this kind live. Throws for a kind that no installation has. */
export function installedKind(object: KubeObject): ResourceType<KubeObject> {
  const found = [...otherKinds, ...allKinds].find(
    ({ kind, group, version }) =>
      kind === object.kind && object.apiVersion === (group === '' ? version : `${group}/${version}`),
  )
  if (found !== undefined) return found
  throw new TypeError(`an installation has no ${object.apiVersion} ${object.kind}`)
}

export interface StoredNamespace extends KubeObject {
  status?: { phase?: string; conditions?: { type: string; status: string; message?: string }[] }
}

export interface StoredBinding extends KubeObject {
  roleRef?: { kind: string; name: string }
  subjects?: { kind: string; name: string; namespace?: string }[]
}
