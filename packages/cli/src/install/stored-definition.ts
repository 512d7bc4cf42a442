import { builtInKind, type KubeObject } from '@lateen/kube'

/** A schema as a definition holds it, as far as fields are looked for. */
export interface StoredSchema {
  properties?: Record<string, StoredSchema>
  items?: StoredSchema
  additionalProperties?: StoredSchema | boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** A CustomResourceDefinition as a cluster holds it; it may come from any program and version. */
export interface StoredDefinition extends KubeObject {
  spec?: {
    group?: string
    names?: { kind?: string; plural?: string }
    versions?: {
      name: string
      served?: boolean
      storage?: boolean
      schema?: { openAPIV3Schema?: StoredSchema }
    }[]
  }
  status?: {
    conditions?: { type: string; status: string; message?: string }[]
    storedVersions?: string[]
  }
}

export const DefinitionKind = builtInKind<StoredDefinition>('CustomResourceDefinition')
