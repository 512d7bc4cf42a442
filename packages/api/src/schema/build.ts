import type { Schema } from './schema.ts'

/** A field that must be present. Made by {@link required}. */
export interface RequiredField<T = unknown> {
  readonly requiredField: Schema<T>
}

/** The fields of an object: a schema for an optional one, {@link required} around it for a mandatory one. */
export type Fields = Readonly<Record<string, Schema | RequiredField>>

type Flat<T> = { [K in keyof T]: T[K] }

/** The TypeScript type of an object with these fields. */
export type ObjectOf<F extends Fields> = Flat<
  {
    [K in keyof F as F[K] extends RequiredField ? K : never]: F[K] extends RequiredField<infer T> ? T : never
  } & {
    [K in keyof F as F[K] extends RequiredField ? never : K]?: F[K] extends Schema<infer T> ? T : never
  }
>

/** Text. `options.default` is what the API server fills in when the field is missing. */
export function string(description: string, options: { default?: string } = {}): Schema<string> {
  return { type: 'string', description, ...options }
}

/** One of a closed list of words. */
export function enumeration<const V extends readonly string[]>(
  description: string,
  values: V,
): Schema<V[number]> {
  return { type: 'string', description, enum: values }
}

/** A Go duration as text, such as `10m0s`. The API server takes any text; `checkValue` does not. */
export function duration(description: string): Schema<string> {
  return { type: 'string', description, meaning: 'go-duration' }
}

/** A moment as RFC 3339 text. Velero's are all nullable. */
export function time(description: string): Schema<string | null> {
  return { type: 'string', description, format: 'date-time', nullable: true }
}

/** Bytes as base64 text. */
export function bytes(description: string): Schema<string> {
  return { type: 'string', description, format: 'byte' }
}

/** A whole number of the size the machine has. */
export function integer(description: string): Schema<number> {
  return { type: 'integer', description }
}

/** A whole number declared with 64 bits. */
export function int64(description: string): Schema<number> {
  return { type: 'integer', description, format: 'int64' }
}

/** True or false. */
export function boolean(description: string): Schema<boolean> {
  return { type: 'boolean', description }
}

/** A list. `options.minItems` is the smallest length the API server accepts. */
export function array<T>(
  description: string,
  items: Schema<T>,
  options: { minItems?: number } = {},
): Schema<T[]> {
  return { type: 'array', description, items, ...options }
}

/** A list of texts, each described by the list's own description. */
export function strings(description: string): Schema<string[]> {
  return array(description, string(''))
}

/** Free keys with text values. */
export function map(description: string): Schema<Record<string, string>> {
  return { type: 'object', description, additionalProperties: string('') }
}

/** An object with named fields; others are pruned by the API server. */
export function object<F extends Fields>(description: string, fields: F): Schema<ObjectOf<F>> {
  const properties: Record<string, Schema> = {}
  const mandatory: string[] = []
  for (const [name, field] of Object.entries(fields)) {
    if ('requiredField' in field) {
      properties[name] = field.requiredField
      mandatory.push(name)
    } else {
      properties[name] = field
    }
  }
  return {
    type: 'object',
    description,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(mandatory.length > 0 && { required: mandatory }),
  }
}

/** An object of which the API server keeps every field, known or not. */
export function anyObject(description: string): Schema<Record<string, unknown>> {
  return { type: 'object', description, preserveUnknownFields: true }
}

/** Marks a field of an object as mandatory. */
export function required<T>(schema: Schema<T>): RequiredField<T> {
  return { requiredField: schema }
}

/** The same, or null. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return { ...schema, nullable: true } as Schema<T | null>
}

/** The same, but replaced as a whole by server-side apply. */
export function atomic<T>(schema: Schema<T>): Schema<T> {
  return { ...schema, atomic: true }
}

/** The same, with contents the API server neither prunes nor checks. */
export function preserveUnknown<T>(schema: Schema<T>): Schema<T> {
  return { ...schema, preserveUnknownFields: true }
}

/** The same, described by other words. */
export function described<T>(description: string, schema: Schema<T>): Schema<T> {
  return { ...schema, description }
}
