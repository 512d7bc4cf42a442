/** A schema of OpenAPI v3, as far as objects are checked against it: of a CustomResourceDefinition, or of the API server's own types. */
export interface Schema {
  $ref?: string
  type?: string
  nullable?: boolean
  default?: unknown
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  required?: readonly string[]
  items?: Schema
  enum?: readonly unknown[]
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean
  exclusiveMaximum?: boolean
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minProperties?: number
  maxProperties?: number
  allOf?: readonly Schema[]
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  not?: Schema
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-group-version-kind'?: readonly { group?: string; version?: string; kind?: string }[]
}

/** How a schema is meant. */
export interface SchemaRules {
  /**
   * Custom resources must fit their schema in everything; of the server's own types only what cannot be decoded is refused
   * by it, and what else is wrong is found by code that nobody outside the server has.
   */
  strict: boolean
  /** The schema that a reference names. */
  resolve(reference: string): Schema | undefined
}
