import { isJsonObject, sameJson } from '../items/same-json.ts'
import { compileGoRegexp, InvalidRegexpError } from '../modifiers/go-regexp.ts'
import type { Schema, SchemaRules } from './schema.ts'

/** A value of an object, and what it must be. */
interface Checked {
  schema: Schema
  value: unknown
  /** `spec.ports[0].port` */
  path: string
}

/** Deeper than any schema that the API server takes. */
const maxDepth = 100
/** Enough to see what is wrong. */
const maxProblems = 10

const json = JSON as typeof JSON & { isRawJSON(value: unknown): value is { rawJSON: string } }

/**
 * What of an object does not fit its schema, in words like the API server's. `apiVersion`, `kind` and `metadata` are left to the
 * server. Rules of a schema in another language (CEL) and formats are not looked at.
 */
export function schemaProblems(
  schema: Schema,
  object: Readonly<Record<string, unknown>>,
  rules: SchemaRules,
): string[] {
  const check = new Check(rules)
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...value } = object
  const { required = [], properties = {}, ...rest } = check.resolved(schema)
  const { apiVersion: _v, kind: _k, metadata: _m, ...own } = properties
  const inner = required.filter(name => !['apiVersion', 'kind', 'metadata'].includes(name))
  check.look({ schema: { ...rest, required: inner, properties: own }, value, path: '' })
  return check.problems.slice(0, maxProblems)
}

class Check {
  readonly problems: string[] = []
  readonly #rules: SchemaRules
  #depth = 0

  constructor(rules: SchemaRules) {
    this.#rules = rules
  }

  resolved(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : (this.#rules.resolve(schema.$ref) ?? {})
  }

  look({ schema: given, value, path }: Checked): void {
    if (this.problems.length >= maxProblems || this.#depth >= maxDepth) return
    const schema = this.resolved(given)
    this.#depth += 1
    if (value === null) this.#lookAtNull(schema, path)
    else if (this.#hasType({ schema, value, path })) {
      this.#lookAtLogic({ schema, value, path })
      if (this.#rules.strict) this.#lookAtValue({ schema, value, path })
      if (Array.isArray(value)) this.#lookAtList({ schema, value, path })
      else if (isJsonObject(value)) this.#lookAtFields({ schema, value, path })
    }
    this.#depth -= 1
  }

  /** The server's own types take null for nothing, and defaults take its place. */
  #lookAtNull(schema: Schema, path: string): void {
    if (!this.#rules.strict || schema.nullable === true || schema.default !== undefined) return
    if (schema.type !== undefined) {
      this.#refuse(path, `Invalid value: "null": ${path} in body must be of type ${schema.type}: "null"`)
    }
  }

  #hasType({ schema, value, path }: Checked): boolean {
    const found = typeOf(value)
    const wanted = schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : schema.type
    if (wanted === undefined || fits(found, wanted)) return true
    const said = `must be of type ${wanted}: "${found}"`
    this.#refuse(path, this.#rules.strict ? `Invalid value: "${found}": ${path} in body ${said}` : said)
    return false
  }

  #lookAtLogic({ schema, value, path }: Checked): void {
    for (const each of schema.allOf ?? []) this.look({ schema: each, value, path })
    const matches = (each: Schema) => this.#matches({ schema: each, value, path })
    if (schema.anyOf !== undefined && !schema.anyOf.some(matches)) {
      this.#refuse(path, `Invalid value: ${path} in body must validate at least one schema (anyOf)`)
    }
    const one = schema.oneOf?.filter(matches).length
    // Of the server's own types a number may fit `integer` and `number`.
    if (one !== undefined && (this.#rules.strict ? one !== 1 : one === 0)) {
      this.#refuse(path, `Invalid value: ${path} in body must validate one and only one schema (oneOf)`)
    }
    if (schema.not !== undefined && matches(schema.not)) {
      this.#refuse(path, `Invalid value: ${path} in body must not validate the schema (not)`)
    }
  }

  #matches(checked: Checked): boolean {
    const check = new Check(this.#rules)
    check.#depth = this.#depth
    check.look(checked)
    return check.problems.length === 0
  }

  #lookAtValue({ schema, value, path }: Checked): void {
    if (schema.enum !== undefined && !schema.enum.some(each => sameJson(each, value))) {
      const allowed = schema.enum.map(each => JSON.stringify(each)).join(', ')
      this.#refuse(path, `Unsupported value: ${JSON.stringify(value)}: supported values: ${allowed}`)
    }
    for (const problem of [...sizeProblems(schema, value), ...numberProblems(schema, value)]) {
      this.#refuse(path, `Invalid value: ${JSON.stringify(value)}: ${path} in body should ${problem}`)
    }
    if (schema.pattern !== undefined && typeof value === 'string' && !matchesPattern(schema.pattern, value)) {
      const shown = JSON.stringify(value)
      this.#refuse(path, `Invalid value: ${shown}: ${path} in body should match '${schema.pattern}'`)
    }
  }

  #lookAtList({ schema, value, path }: Checked & { value: unknown[] }): void {
    const { items } = schema
    if (items === undefined) return
    for (const [at, each] of value.entries())
      this.look({ schema: items, value: each, path: `${path}[${at}]` })
  }

  #lookAtFields({ schema, value, path }: Checked & { value: Record<string, unknown> }): void {
    const { properties = {}, additionalProperties, required = [] } = schema
    for (const [name, each] of Object.entries(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
      if (typeof known === 'object') this.look({ schema: known, value: each, path: below(path, name) })
    }
    if (!this.#rules.strict) return
    for (const name of required) {
      const hasDefault = Object.hasOwn(properties, name) && properties[name]?.default !== undefined
      if (!Object.hasOwn(value, name) && !hasDefault) this.#refuse(below(path, name), 'Required value')
    }
  }

  #refuse(path: string, problem: string): void {
    this.problems.push(`${path === '' ? '<root>' : path}: ${problem}`)
  }
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (json.isRawJSON(value)) return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function fits(found: string, wanted: string): boolean {
  if (wanted === 'integer or string') return found === 'integer' || found === 'string'
  return found === wanted || (wanted === 'number' && found === 'integer')
}

function* sizeProblems(schema: Schema, value: unknown): Iterable<string> {
  const { minLength = 0, maxLength = Infinity, minItems = 0, maxItems = Infinity } = schema
  const { minProperties = 0, maxProperties = Infinity } = schema
  if (typeof value === 'string') {
    const { length } = [...value]
    if (length < minLength) yield `be at least ${minLength} chars long`
    if (length > maxLength) yield `be at most ${maxLength} chars long`
  } else if (Array.isArray(value)) {
    if (value.length < minItems) yield `have at least ${minItems} items`
    if (value.length > maxItems) yield `have at most ${maxItems} items`
  } else if (isJsonObject(value)) {
    const { length } = Object.keys(value)
    if (length < minProperties) yield `have at least ${minProperties} properties`
    if (length > maxProperties) yield `have at most ${maxProperties} properties`
  }
}

function* numberProblems(schema: Schema, value: unknown): Iterable<string> {
  if (typeof value !== 'number') return
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum } = schema
  if (exclusiveMinimum ? value <= minimum : value < minimum) {
    yield `be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`
  }
  if (exclusiveMaximum ? value >= maximum : value > maximum) {
    yield `be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`
  }
}

/** A pattern that cannot be read here refuses nothing. */
function matchesPattern(pattern: string, value: string): boolean {
  try {
    return compileGoRegexp(pattern)(value)
  } catch (error) {
    if (error instanceof InvalidRegexpError) return true
    throw error
  }
}
