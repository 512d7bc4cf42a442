import { corrupt, RepoError } from '../errors/repo-error.ts'

/** A value that `parseGoJson` returns: integers beyond 2^53 are bigint, everything else is as JSON has it. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject

/** An object of `JsonValue`s; absent properties read as undefined. */
export type JsonObject = { [key: string]: JsonValue | undefined }

/** How `encodeGoJson` lays out its text. */
export interface GoJsonOptions {
  /** Appends one line feed, as Go's `Encoder` does. */
  newline?: boolean
  /** Spaces per level; absent means no white space at all. */
  indent?: number
}

/** A map: its keys are written in the byte order of their UTF-8 form, as Go writes maps. */
export class GoMap {
  readonly entries: readonly (readonly [string, unknown])[]

  constructor(entries: Iterable<readonly [string, unknown]>) {
    this.entries = [...entries].sort(([a], [b]) => compareUtf8(a, b))
  }
}

/** Marks entries, or the properties of an object, as a map so that its keys are sorted when encoded. */
export function goMap(
  entries: Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>,
): GoMap {
  return new GoMap(isIterable(entries) ? entries : Object.entries(entries))
}

/** Orders two strings by their UTF-8 bytes, which differs from JavaScript's order above U+D7FF. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return utf8Rank(x) - utf8Rank(y)
  }
  return a.length - b.length
}

/**
 * Encodes as Go's `encoding/json` does, byte for byte: properties in their own order, undefined ones left
 * out, `GoMap` and `Map` sorted, `Uint8Array` as base64, bigint as a number. A lone surrogate stands for one
 * invalid UTF-8 byte and becomes the six characters `\ufffd`.
 * Throws `INVALID_ARGUMENT` for what JSON cannot say (NaN, functions, symbols).
 */
export function encodeGoJson(value: unknown, options: GoJsonOptions = {}): string {
  const layout = options.indent === undefined ? compact : indented(options.indent, 1)
  const text = encode(value, layout)
  return options.newline ? `${text}\n` : text
}

/**
 * Parses JSON without losing integers: those beyond 2^53 become bigint.
 * Throws `CORRUPT` when the text is not JSON.
 */
export function parseGoJson(text: string): JsonValue {
  try {
    return mayHoldBigIntegers.test(text)
      ? (JSON.parse(text, reviveBigIntegers) as JsonValue)
      : JSON.parse(text)
  } catch (cause) {
    throw corrupt('The text is not valid JSON', { cause })
  }
}

/** The value when it is a JSON object; otherwise throws `CORRUPT`, naming `what`. */
export function asJsonObject(value: JsonValue | undefined, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw corrupt(`${what} is not a JSON object`)
}

interface Layout {
  open: string
  separator: string
  close: string
  colon: string
  deeper: () => Layout
}

const compact: Layout = { open: '', separator: ',', close: '', colon: ':', deeper: () => compact }

function indented(spaces: number, level: number): Layout {
  const inner = `\n${' '.repeat(spaces * level)}`
  return {
    open: inner,
    separator: `,${inner}`,
    close: `\n${' '.repeat(spaces * (level - 1))}`,
    colon: ': ',
    deeper: () => indented(spaces, level + 1),
  }
}

function encode(value: unknown, layout: Layout): string {
  switch (typeof value) {
    case 'string':
      return encodeString(value)
    case 'number':
      return encodeNumber(value)
    case 'bigint':
      return value.toString()
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      return value === null ? 'null' : encodeObject(value, layout)
    default:
      throw new RepoError('INVALID_ARGUMENT', { message: `A ${typeof value} has no JSON form` })
  }
}

function encodeObject(value: object, layout: Layout): string {
  if (value instanceof Uint8Array) {
    return `"${Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')}"`
  }
  if (Array.isArray(value)) {
    const deeper = layout.deeper()
    return wrapped(
      '[]',
      value.map(item => encode(item, deeper)),
      layout,
    )
  }
  if (value instanceof GoMap) return encodeProperties(value.entries, layout)
  if (value instanceof Map) return encodeProperties(goMap(value as Map<string, unknown>).entries, layout)
  return encodeProperties(Object.entries(value), layout)
}

function encodeProperties(properties: readonly (readonly [string, unknown])[], layout: Layout): string {
  const deeper = layout.deeper()
  const parts: string[] = []
  for (const [key, value] of properties) {
    if (value !== undefined) parts.push(`${encodeString(key)}${layout.colon}${encode(value, deeper)}`)
  }
  return wrapped('{}', parts, layout)
}

function wrapped(brackets: '[]' | '{}', parts: readonly string[], layout: Layout): string {
  if (parts.length === 0) return brackets
  return `${brackets[0]}${layout.open}${parts.join(layout.separator)}${layout.close}${brackets[1]}`
}

function encodeNumber(value: number): string {
  if (!Number.isFinite(value))
    throw new RepoError('INVALID_ARGUMENT', { message: `${value} has no JSON form` })
  return String(value)
}

const goEscaped = /[<>&\u2028\u2029]/g
const loneSurrogate = /\p{Surrogate}/u

function encodeString(text: string): string {
  if (!text.isWellFormed()) {
    const parts = text.split(loneSurrogate).map(part => encodeString(part).slice(1, -1))
    return `"${parts.join('\\ufffd')}"`
  }
  return JSON.stringify(text).replace(goEscaped, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

// Cheap filter: object ids hold long digit runs too, but right after a quote, never after one of these.
const mayHoldBigIntegers = /(?:^|[:,[])\s*-?\d{16}/

function reviveBigIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source ?? ''
  return /^-?\d+$/.test(source) ? BigInt(source) : value
}

function isIterable(value: object): value is Iterable<readonly [string, unknown]> {
  return Symbol.iterator in value
}

/** Moves surrogates above U+E000..U+FFFF, where the code points they stand for sort in UTF-8. */
function utf8Rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
