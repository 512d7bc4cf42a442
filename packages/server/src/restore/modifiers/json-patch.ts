import { isJsonObject, sameJson } from '../items/same-json.ts'
import { copyJson, fieldOf, type JsonObject, setField } from './copy-json.ts'

/** Where in a document something is: the names and indices on the way. */
export interface Pointer {
  /** As it was written, such as `/spec/containers/0/image`. */
  readonly text: string
  readonly parts: readonly string[]
}

/** A step of a JSON patch (RFC 6902). */
export type JsonOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'copy' | 'move'; readonly from: Pointer; readonly path: Pointer }

type JsonPatchErrorCode =
  | 'JSON_PATCH_TEST_FAILED'
  | 'JSON_PATCH_PATH_MISSING'
  | 'JSON_PATCH_BAD_INDEX'
  | 'JSON_PATCH_TOO_LARGE'

/** What all copies of a patch may have together, as JSON: that of the API server. Each could double the document. */
const mostCopied = 3 << 20

/** Why a JSON patch does not apply to a document. */
export class JsonPatchError extends Error {
  override readonly name = 'JsonPatchError'
  readonly code: JsonPatchErrorCode
  readonly hint = 'compare the path with the object as it is in the backup'

  constructor(code: JsonPatchErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Reads a pointer (RFC 6901); undefined when it does not begin with a slash. */
export function parsePointer(text: string): Pointer | undefined {
  if (!text.startsWith('/')) return undefined
  const parts = text
    .slice(1)
    .split('/')
    .map(part => part.replace(/~[01]/g, sign => (sign === '~1' ? '/' : '~')))
  return { text, parts }
}

/**
 * Applies a patch to a document, which is changed on the way, also when a step fails. As in Velero, which goes beyond the
 * RFC there, indices below zero count from the end and a test for null holds for a field that is not there.
 * Throws JsonPatchError.
 */
export function applyJsonPatch(document: JsonObject, operations: readonly JsonOperation[]): void {
  const copies = new Copies()
  for (const operation of operations) applyOperation(document, operation, copies)
}

/** Makes the copies of one patch, and counts what they come to. */
class Copies {
  #size = 0

  of(value: unknown, path: Pointer): unknown {
    this.#size += JSON.stringify(value).length
    if (this.#size <= mostCopied) return copyJson(value)
    const message = `the copies of the patch have more than ${mostCopied} characters, with that to ${path.text}`
    throw new JsonPatchError('JSON_PATCH_TOO_LARGE', message)
  }
}

function applyOperation(document: JsonObject, operation: JsonOperation, copies: Copies): void {
  const { path } = operation
  switch (operation.op) {
    case 'add':
      placeOf(document, path).add(copyJson(operation.value))
      break
    case 'replace':
      placeOf(document, path).replace(copyJson(operation.value))
      break
    case 'remove':
      placeOf(document, path).remove()
      break
    case 'test':
      test(placeOf(document, path), operation.value)
      break
    case 'copy':
      placeOf(document, path).add(copies.of(placeOf(document, operation.from).present(), path))
      break
    case 'move': {
      const from = placeOf(document, operation.from)
      const value = from.present()
      from.remove()
      placeOf(document, path).add(value)
    }
  }
}

function test(place: Place, wanted: unknown): void {
  const value = place.value() ?? null
  if (!sameJson(value, wanted)) {
    throw new JsonPatchError('JSON_PATCH_TEST_FAILED', `the value at ${place.path.text} is another`)
  }
}

/** A place in an object or a list, which may be empty. */
interface Place {
  readonly path: Pointer
  /** What is there; undefined when there is no such field. Throws for an index outside of the list. */
  value(): unknown
  /** What is there. Throws when nothing is. */
  present(): unknown
  add(value: unknown): void
  replace(value: unknown): void
  remove(): void
}

function placeOf(document: JsonObject, path: Pointer): Place {
  const parents = path.parts.slice(0, -1)
  const name = path.parts.at(-1) ?? ''
  let container: unknown = document
  for (const part of parents) {
    if (Array.isArray(container)) container = container[indexIn(part, container.length) ?? -1]
    else container = isJsonObject(container) ? fieldOf(container, part) : undefined
  }
  if (Array.isArray(container)) return placeInList(container, name, path)
  if (isJsonObject(container)) return placeInObject(container, name, path)
  throw missing(path)
}

function placeInObject(object: JsonObject, name: string, path: Pointer): Place {
  const present = () => {
    if (!Object.hasOwn(object, name)) throw missing(path)
    return object[name]
  }
  return {
    path,
    value: () => fieldOf(object, name),
    present,
    add: value => setField(object, name, value),
    replace(value) {
      present()
      setField(object, name, value)
    },
    remove() {
      present()
      delete object[name]
    },
  }
}

function placeInList(list: unknown[], name: string, path: Pointer): Place {
  const index = (length: number) => {
    const found = indexIn(name, length)
    if (found === undefined) throw badIndex(name, path)
    return found
  }
  const present = () => list[index(list.length)]
  return {
    path,
    value: present,
    present,
    add: value => void list.splice(name === '-' ? list.length : index(list.length + 1), 0, value),
    replace: value => void list.splice(index(list.length), 1, value),
    remove: () => void list.splice(index(list.length), 1),
  }
}

/** The index that a part of a pointer means in a list of this length; undefined when it means none. */
function indexIn(part: string, length: number): number | undefined {
  if (!/^[-+]?\d{1,15}$/.test(part)) return undefined
  const index = Number(part) < 0 ? Number(part) + length : Number(part)
  return index >= 0 && index < length ? index : undefined
}

function missing(path: Pointer): JsonPatchError {
  return new JsonPatchError('JSON_PATCH_PATH_MISSING', `there is nothing at ${path.text}`)
}

function badIndex(name: string, path: Pointer): JsonPatchError {
  return new JsonPatchError('JSON_PATCH_BAD_INDEX', `${name} in ${path.text} is no index of the list there`)
}
