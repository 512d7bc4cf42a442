/**
 * One node of a Kubernetes structural schema, as plain data, carrying the TypeScript type of the values it describes.
 * Everything else (OpenAPI, defaults, validation, printer output) is read from it.
 */
export interface Schema<T = unknown> {
  readonly type: 'string' | 'integer' | 'boolean' | 'object' | 'array'
  readonly description: string
  readonly nullable?: true
  readonly format?: 'date-time' | 'byte' | 'int64'
  readonly enum?: readonly string[]
  readonly default?: string
  readonly minItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema
  readonly preserveUnknownFields?: true
  /** Replaced as a whole by server-side apply: `x-kubernetes-map-type` or `x-kubernetes-list-type`. */
  readonly atomic?: true
  /** What the text means beyond OpenAPI; checked by us, unknown to the API server. */
  readonly meaning?: 'go-duration'
  /** Exists only for inference and is never set. */
  readonly valueType?: T
}

/** The TypeScript type of the values a schema describes. */
export type Infer<S> = S extends Schema<infer T> ? T : never
