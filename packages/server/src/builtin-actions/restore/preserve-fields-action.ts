import type { ActionItem, RestoreItemAction } from '@lateen/plugin'
import { removeFields } from './remove-fields.ts'

interface Definition extends ActionItem {
  spec?: {
    preserveUnknownFields?: boolean
    versions?: { schema?: { openAPIV3Schema?: Record<string, unknown> | null } | null }[] | null
  }
}

/**
 * `velero.io/crd-preserve-fields`: a definition that keeps unknown fields says so in its schemas; the field that says it for the whole
 * definition is refused by the API.
 */
export const preserveFieldsAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['customresourcedefinition.apiextensions.k8s.io'] }),
  async execute({ item }) {
    const { apiVersion, spec } = item as Definition
    if (apiVersion !== 'apiextensions.k8s.io/v1' || spec?.preserveUnknownFields !== true) return { item }
    removeFields(spec, ['preserveUnknownFields'])
    for (const { schema } of spec.versions ?? []) {
      if (schema?.openAPIV3Schema) schema.openAPIV3Schema['x-kubernetes-preserve-unknown-fields'] = true
    }
    return { item }
  },
}
