import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  Scalar,
  type ScalarTag,
  type Tags,
} from 'yaml'
import { type JsonObject, setField } from './copy-json.ts'

/** Something wrong with a text. */
export interface YamlProblem {
  readonly line: number
  readonly reason: string
}

/** A YAML text that was read. */
export interface YamlText {
  /** As values of JSON; integers beyond 2^53 are `JSON.rawJSON` values. */
  readonly value: unknown
  /** The line of what is at a path such as `rules[0].name`, or of the nearest that is there. From 1. */
  lineOf(path: string): number
  /** For a text inside of this text, at a path: the line of one of its lines, as far as that can be told. */
  lineInside(path: string, line: number): number
}

/** Part of Node since 22, and of the language, but not yet of the compiler's library. */
const json = JSON as typeof JSON & { rawJSON(text: string): unknown }

/**
 * Reads YAML 1.1 as Velero does: `yes` and `on` are true and 010 is 8, but neither times nor dates are anything but text. Keys must
 * be unique. Never throws: a text with problems has no value.
 */
export function readYaml(text: string): YamlText | { readonly problems: readonly YamlProblem[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    intAsBigInt: true,
    prettyErrors: false,
    logLevel: 'error',
    lineCounter: lines,
    customTags: tags => [...tags.filter(isKept), octal],
  })
  if (document.errors.length > 0) {
    return {
      problems: document.errors.map(({ pos, message }) => ({
        line: lines.linePos(pos[0]).line,
        reason: message,
      })),
    }
  }
  const place = (path: string) => placeAt(document, path)
  const lineAt = (offset: number) => Math.max(lines.linePos(offset).line, 1)
  try {
    return {
      value: asJson(document.toJS()),
      lineOf: path => lineAt(place(path).offset),
      lineInside(path, line) {
        const { offset, node } = place(path)
        const isBlock = isScalar(node) && node.type === Scalar.BLOCK_LITERAL
        return isBlock ? lineAt(node.range?.[0] ?? offset) + line : lineAt(offset)
      },
    }
  } catch (error) {
    return { problems: [{ line: 1, reason: error instanceof Error ? error.message : String(error) }] }
  }
}

// Velero's library takes integers in the notation of YAML 1.2, too.
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  identify: () => false,
  test: /^[-+]?0o[0-7]+$/,
  resolve: text => (text.startsWith('-') ? -1n : 1n) * BigInt(text.replace(/^[-+]/, '')),
}

function isKept(tag: Tags[number]): boolean {
  return typeof tag === 'string' || (tag.format !== 'TIME' && !tag.tag.endsWith(':timestamp'))
}

interface PlaceInText {
  offset: number
  node: Node | null | undefined
}

/** Where the thing at a path begins: a field at its name, an element at itself. */
function placeAt(document: Document.Parsed, path: string): PlaceInText {
  let place: PlaceInText = { offset: document.contents?.range[0] ?? 0, node: document.contents }
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    const next: PlaceInText | undefined = stepInto(document, place.node, name ?? Number(index))
    if (next === undefined) return place
    place = next
  }
  return place
}

function stepInto(
  document: Document.Parsed,
  node: Node | null | undefined,
  step: string | number,
): PlaceInText | undefined {
  const container = isAlias(node) ? node.resolve(document) : node
  if (isSeq<ParsedNode>(container) && typeof step === 'number') {
    const element = container.items[step]
    return element === undefined ? undefined : { offset: element.range[0], node: element }
  }
  if (!isMap<ParsedNode, ParsedNode | null>(container)) return undefined
  const pair = container.items.find(({ key }) => isScalar(key) && String(key.value) === step)
  return pair === undefined ? undefined : { offset: pair.key.range[0], node: pair.value }
}

/** Throws a RangeError for what JSON does not have. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : json.rawJSON(String(value))
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RangeError(`${value} is no number of JSON`)
  if (Array.isArray(value)) return value.map(asJson)
  if (typeof value !== 'object' || value === null) return value
  if (Object.getPrototypeOf(value) !== Object.prototype)
    throw new RangeError('binary data, sets and dates are not JSON')
  const object: JsonObject = {}
  for (const [name, each] of Object.entries(value)) setField(object, name, asJson(each))
  return object
}
