import type { KubeClient, ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem, BackupItemAction } from '@lateen/plugin'

/** A CustomResourceDefinition, as far as this action looks at it. */
interface Definition extends ActionItem {
  spec?: {
    preserveUnknownFields?: boolean
    versions?: { schema?: { openAPIV3Schema?: unknown } | null }[] | null
  }
  status?: { conditions?: { type?: string }[] | null }
}

const group = 'apiextensions.k8s.io'
const betaType: ResourceType<Unstructured> = {
  group,
  version: 'v1beta1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/**
 * `velero.io/crd-remap-version`: on clusters that still serve v1beta1 definitions, one that was written as v1beta1 is
 * stored as v1beta1, because as v1 it would not be accepted again.
 */
export function remapCrdVersionAction(client: KubeClient): BackupItemAction {
  return {
    appliesTo: async () => ({ includedResources: [`customresourcedefinition.${group}`] }),
    async execute({ item, signal }) {
      if (item.apiVersion !== `${group}/v1` || !wasBeta(item)) return { item, unchanged: true }
      const types = await client.discovery.all({ signal })
      const served = types.some(type => type.group === group && type.version === betaType.version)
      if (!served) return { item, unchanged: true }
      const beta = await client.resource(betaType).get(item.metadata.name ?? '', { signal })
      return { item: { ...beta, apiVersion: `${group}/${betaType.version}`, kind: betaType.kind } }
    },
  }
}

/** Whether a definition has what only v1beta1 allows: no schema, a schema that is not structural, unknown fields kept. */
export function wasBeta(item: ActionItem): boolean {
  const { spec, status } = item as Definition
  const [first] = spec?.versions ?? []
  const withoutSchema = first !== undefined && first.schema?.openAPIV3Schema === undefined
  const notStructural = (status?.conditions ?? []).some(({ type }) => type === 'NonStructuralSchema')
  return withoutSchema || notStructural || spec?.preserveUnknownFields === true
}
