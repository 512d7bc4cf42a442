import { fieldOf } from './field-of.ts'
import type { Schema } from './schema.ts'

/**
 * A copy of the value as the API server would store it: nulls where none is allowed are gone, and missing fields
 * that have a default are filled in. Values of the wrong shape and unknown fields pass unchanged.
 */
export function withDefaults(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.map(item => withDefaults(items, item)) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).flatMap(([name, given]): [string, unknown][] => {
    const field = fieldOf(schema, name)
    if (!field) return [[name, given]]
    return given === null && !field.nullable ? [] : [[name, withDefaults(field, given)]]
  })
  return Object.fromEntries([...defaultsMissingIn(schema, new Set(kept.map(([name]) => name))), ...kept])
}

function defaultsMissingIn(schema: Schema, present: ReadonlySet<string>): [string, string][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, string][] =>
    field.default === undefined || present.has(name) ? [] : [[name, field.default]],
  )
}
