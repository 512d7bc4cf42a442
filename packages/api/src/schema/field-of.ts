import type { Schema } from './schema.ts'

/** The schema of a field of an object, or undefined when the schema does not know it. */
export function fieldOf(schema: Schema, name: string): Schema | undefined {
  const { properties = {}, additionalProperties } = schema
  return Object.hasOwn(properties, name) ? properties[name] : additionalProperties
}
