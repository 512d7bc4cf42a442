import type { KubeObject } from '@lateen/kube'

type Fields = Record<string, unknown>

/** An object without what restoring it changes: what the API server fills in, and what Velero's restore actions take out or add. */
export function remainsAfterRestore(object: KubeObject, mapped: (namespace: string) => string): Fields {
  const { apiVersion, kind, metadata, status: _, ...rest } = structuredClone(object) as KubeObject & Fields
  const { name, labels = {}, annotations = {} } = metadata
  const kept: Kept = { apiVersion, kind, name, labels: withoutMarks(labels), annotations, ...rest }
  changesOf[kind ?? '']?.(kept, mapped)
  return kept
}

interface Kept extends Fields {
  labels: Record<string, string>
  annotations: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
  spec?: any
}

function withoutMarks(labels: Record<string, string>): Record<string, string> {
  const { 'velero.io/backup-name': _, 'velero.io/restore-name': __, ...rest } = labels
  return rest
}

const changesOf: Record<string, (kept: Kept, mapped: (namespace: string) => string) => void> = {
  // Addresses are given out anew.
  Service({ spec }) {
    delete spec.clusterIP
    delete spec.clusterIPs
  },
  // Subjects follow their namespaces.
  RoleBinding(kept, mapped) {
    const subjects = kept.subjects as { namespace: string }[]
    kept.subjects = subjects.map(subject => ({ ...subject, namespace: mapped(subject.namespace) }))
  },
  // It is to be bound anew.
  PersistentVolumeClaim({ annotations }) {
    delete annotations['pv.kubernetes.io/bind-completed']
  },
  // It finds its pods by its own uid.
  Job({ spec }) {
    delete spec.selector
    delete spec.template.metadata.labels['controller-uid']
    delete spec.template.metadata.labels['batch.kubernetes.io/controller-uid']
  },
}
