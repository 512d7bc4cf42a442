import { apiVersionOf, type KindDescription, type PrinterColumn } from './kind.ts'
import { type OpenApiSchema, toOpenApi } from './schema/open-api.ts'

/** A CustomResourceDefinition as a plain object. */
export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1'
  kind: 'CustomResourceDefinition'
  metadata: { name: string; labels?: Record<string, string> }
  spec: {
    group: string
    names: { kind: string; listKind: string; plural: string; singular: string; shortNames?: string[] }
    scope: 'Namespaced'
    versions: CustomResourceVersion[]
  }
}

/** One version of a CustomResourceDefinition. */
export interface CustomResourceVersion {
  name: string
  served: true
  storage: true
  additionalPrinterColumns?: PrinterColumn[]
  schema: { openAPIV3Schema: OpenApiSchema }
}

/**
 * The CRD of a kind. It has no status subresource: Velero's kinds have none, and clients of either side write
 * the status as a part of the object.
 */
export function crdFor(kind: KindDescription): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        ...(kind.shortNames.length > 0 && { shortNames: [...kind.shortNames] }),
        singular: kind.singular,
      },
      scope: 'Namespaced',
      versions: [
        {
          ...(kind.printerColumns.length > 0 && { additionalPrinterColumns: [...kind.printerColumns] }),
          name: kind.version,
          schema: { openAPIV3Schema: rootSchema(kind) },
          served: true,
          storage: true,
        },
      ],
    },
  }
}

function rootSchema(kind: KindDescription): OpenApiSchema {
  return {
    description: kind.description,
    properties: {
      apiVersion: { description: `Group and version: ${apiVersionOf(kind)}.`, type: 'string' },
      kind: { description: `The kind: ${kind.kind}.`, type: 'string' },
      metadata: { type: 'object' },
      spec: toOpenApi(kind.schema.spec),
      status: toOpenApi(kind.schema.status),
    },
    type: 'object',
  }
}
