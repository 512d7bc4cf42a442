/** The label that marks everything an installation consists of; `velero uninstall` finds CRDs by it. */
export const installLabels: Readonly<Record<string, string>> = { component: 'velero' }

/** Metadata of an installation's object; `namespace` is absent for cluster-scoped ones. */
export function installMetadata(name: string, namespace?: string): InstallMetadata {
  return { name, ...(namespace === undefined ? {} : { namespace }), labels: { ...installLabels } }
}

export interface InstallMetadata {
  name: string
  namespace?: string
  labels: Record<string, string>
}
