import { parseGoDuration } from '../go-duration.ts'
import { parseTime } from '../rfc3339.ts'
import { fieldOf } from './field-of.ts'
import type { Schema } from './schema.ts'

/** Where a value does not match its schema, and why. */
export interface SchemaProblem {
  /** Such as `spec.hooks.resources[2].name`. */
  readonly path: string
  readonly reason: string
}

/** How {@link checkValue} works. */
export interface CheckOptions {
  /** What paths begin with. */
  readonly path?: string
  /** The number of problems after which it stops looking. */
  readonly limit?: number
}

/** The number of problems found before checking stops, unless told otherwise. */
export const defaultProblemLimit = 20

/**
 * What keeps a value from matching its schema; empty when it matches. Fields that the schema does not know are
 * no problem: the API server prunes them.
 */
export function checkValue(schema: Schema, value: unknown, options: CheckOptions = {}): SchemaProblem[] {
  const limit = options.limit ?? defaultProblemLimit
  return problemsOf(schema, value, options.path ?? '')
    .take(limit)
    .toArray()
}

function* problemsOf(schema: Schema, value: unknown, path: string): Generator<SchemaProblem> {
  if (value === null) {
    if (!schema.nullable) yield { path, reason: 'must not be null' }
    return
  }
  const reason = reasonAgainst(schema, value)
  if (reason) {
    yield { path, reason }
    return
  }
  if (Array.isArray(value)) yield* itemProblems(schema, value, path)
  else if (typeof value === 'object') yield* fieldProblems(schema, value, path)
}

function* itemProblems(schema: Schema, items: readonly unknown[], path: string): Generator<SchemaProblem> {
  if (schema.minItems !== undefined && items.length < schema.minItems) {
    yield { path, reason: `must have at least ${schema.minItems} item(s)` }
  }
  if (!schema.items) return
  for (const [index, item] of items.entries()) yield* problemsOf(schema.items, item, `${path}[${index}]`)
}

function* fieldProblems(schema: Schema, value: object, path: string): Generator<SchemaProblem> {
  const prefix = path === '' ? '' : `${path}.`
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) yield { path: prefix + name, reason: 'is missing' }
  }
  for (const [name, given] of Object.entries(value)) {
    const field = fieldOf(schema, name)
    if (field && given !== undefined) yield* problemsOf(field, given, prefix + name)
  }
}

function reasonAgainst(schema: Schema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' ? reasonAgainstText(schema, value) : mustBe('text', value)
    case 'integer':
      return Number.isInteger(value) ? undefined : mustBe('a whole number', value)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : mustBe('true or false', value)
    case 'array':
      return Array.isArray(value) ? undefined : mustBe('a list', value)
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? undefined : mustBe('an object', value)
  }
}

function reasonAgainstText(schema: Schema, text: string): string | undefined {
  if (schema.enum && !schema.enum.includes(text)) {
    return `'${shortened(text)}' is none of ${schema.enum.map(word => word || "''").join(', ')}`
  }
  if (schema.format === 'date-time') return messageOf(() => parseTime(text))
  // Empty reads as none: `durationMilliseconds` agrees.
  if (schema.meaning === 'go-duration' && text !== '') return messageOf(() => parseGoDuration(text))
  if (schema.format === 'byte' && !isBase64(text)) return 'must be base64'
  return undefined
}

function messageOf(parse: () => unknown): string | undefined {
  try {
    parse()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function mustBe(wanted: string, value: unknown): string {
  const given = Array.isArray(value) ? 'a list' : typeof value
  return `must be ${wanted}, not ${given}`
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
