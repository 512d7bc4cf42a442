import { builtInKind, type Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { Schema } from './schema.ts'

/** A CustomResourceDefinition, as far as objects are checked against it. */
export interface PlannedDefinition extends ActionItem {
  spec?: {
    group?: string
    names?: { plural?: string }
    versions?: readonly { name?: string; served?: boolean; schema?: { openAPIV3Schema?: Schema } }[]
  }
}

export const definitionType = builtInKind<Unstructured>('CustomResourceDefinition')

/** Whether a definition brings a version that objects can be created in. */
export function serves({ spec }: PlannedDefinition, version: string): boolean {
  return spec?.versions?.some(({ name, served }) => name === version && served === true) ?? false
}

export function schemaIn({ spec }: PlannedDefinition, version: string): Schema | undefined {
  return spec?.versions?.find(({ name }) => name === version)?.schema?.openAPIV3Schema
}
