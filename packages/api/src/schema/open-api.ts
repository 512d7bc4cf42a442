import type { Schema } from './schema.ts'

/** A structural schema as the API server reads it. */
export interface OpenApiSchema {
  type: string
  description?: string
  nullable?: true
  format?: string
  enum?: string[]
  default?: string
  minItems?: number
  items?: OpenApiSchema
  properties?: Record<string, OpenApiSchema>
  required?: string[]
  additionalProperties?: OpenApiSchema
  'x-kubernetes-map-type'?: 'atomic'
  'x-kubernetes-list-type'?: 'atomic'
  'x-kubernetes-preserve-unknown-fields'?: true
}

/** Turns a schema into OpenAPI v3; the result is the caller's own. */
export function toOpenApi(schema: Schema): OpenApiSchema {
  return {
    ...(schema.description && { description: schema.description }),
    ...(schema.default !== undefined && { default: schema.default }),
    ...(schema.enum && { enum: [...schema.enum] }),
    ...(schema.format && { format: schema.format }),
    ...(schema.minItems !== undefined && { minItems: schema.minItems }),
    ...(schema.nullable && { nullable: true }),
    ...(schema.items && { items: toOpenApi(schema.items) }),
    ...(schema.additionalProperties && { additionalProperties: toOpenApi(schema.additionalProperties) }),
    ...(schema.properties && { properties: propertiesToOpenApi(schema.properties) }),
    ...(schema.required && { required: schema.required.toSorted() }),
    type: schema.type,
    ...(schema.atomic && { [`x-kubernetes-${schema.type === 'array' ? 'list' : 'map'}-type`]: 'atomic' }),
    ...(schema.preserveUnknownFields && { 'x-kubernetes-preserve-unknown-fields': true }),
  }
}

function propertiesToOpenApi(properties: Readonly<Record<string, Schema>>): Record<string, OpenApiSchema> {
  const sorted = Object.entries(properties).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, schema]) => [name, toOpenApi(schema)]))
}
