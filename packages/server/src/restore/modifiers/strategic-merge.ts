import { isJsonObject } from '../items/same-json.ts'
import { fieldOf, type JsonObject, setField } from './copy-json.ts'
import { identityOf, orderElements } from './element-order.ts'
import type { FieldSchema, PatchSchema } from './patch-schema.ts'

const directive = '$patch'
const retainKeys = '$retainKeys'
const elementOrder = '$setElementOrder'
const deletion = '$deleteFromPrimitiveList'

/** Why a strategic merge patch does not apply to an object. */
export class StrategicPatchError extends Error {
  override readonly name = 'StrategicPatchError'
  readonly code = 'STRATEGIC_PATCH_FAILED'
  readonly hint =
    'try the patch with kubectl patch --local --type strategic, or write a JSON patch or a merge patch'
}

/**
 * The object that a strategic merge patch makes of another. Both are used up: they are changed, and parts of them are in the
 * result. Throws StrategicPatchError.
 */
export function mergeStrategically(original: JsonObject, patch: JsonObject, schema: PatchSchema): JsonObject {
  if (Object.hasOwn(patch, directive)) return followDirective(patch)
  retainNamedKeys(original, patch)
  orderLists(original, patch, schema)
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(deletion)) deleteElements(original, listName(name, deletion), value)
    else if (value === null) delete original[name]
    else mergeField(original, name, { value, field: schema.field(name) })
  }
  return original
}

function followDirective(patch: JsonObject): JsonObject {
  const wanted = patch[directive]
  if (wanted === 'delete') return {}
  if (wanted !== 'replace') throw unknownDirective(wanted)
  delete patch[directive]
  return patch
}

interface FieldPatch {
  value: unknown
  field: FieldSchema
}

function mergeField(original: JsonObject, name: string, { value, field }: FieldPatch): void {
  const current = fieldOf(original, name)
  if (isJsonObject(current) && isJsonObject(value)) {
    const merged = field.strategy === 'replace' ? value : mergeStrategically(current, value, field.schema)
    setField(original, name, merged)
  } else if (Array.isArray(current) && Array.isArray(value)) {
    setField(original, name, field.strategy === 'merge' ? mergeLists(current, value, field) : value)
  } else if (isDirective(value)) delete original[name]
  else setField(original, name, withoutDirectives(withoutNulls(value)))
}

function deleteElements(original: JsonObject, name: string, value: unknown): void {
  const current = fieldOf(original, name)
  if (value === null) delete original[name]
  if (!Array.isArray(current) || !Array.isArray(value)) return
  const gone = new Set<unknown>(value)
  setField(
    original,
    name,
    current.filter(element => !gone.has(element)),
  )
}

/** `$retainKeys` names all fields that may be there afterwards. */
function retainNamedKeys(original: JsonObject, patch: JsonObject): void {
  if (!Object.hasOwn(patch, retainKeys)) return
  const names = patch[retainKeys]
  delete patch[retainKeys]
  if (!Array.isArray(names)) throw new StrategicPatchError(`${retainKeys} must be a list of names`)
  const retained = new Set<unknown>(names)
  for (const [name, value] of Object.entries(patch)) {
    const besides = value === null || name.startsWith(deletion) || name.startsWith(elementOrder)
    if (!besides && !retained.has(name)) {
      throw new StrategicPatchError(`the patch sets ${name}, which ${retainKeys} does not name`)
    }
  }
  for (const name of Object.keys(original)) if (!retained.has(name)) delete original[name]
}

/** `$setElementOrder/<list>` gives the order of a list, which is merged here and taken out of the patch. */
function orderLists(original: JsonObject, patch: JsonObject, schema: PatchSchema): void {
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(elementOrder)) continue
    const order = patch[key]
    delete patch[key]
    const name = listName(key, elementOrder)
    const before = listOf(original, name, key)
    const change = listOf(patch, name, key)
    if (!Array.isArray(order)) throw new StrategicPatchError(`${key} must be a list`)
    if (before === undefined && change === undefined) continue
    const field = schema.field(name)
    if (change !== undefined) checkOrder(change, { order, mergeKey: field.mergeKey, key })
    const identity = identityOf(field.mergeKey)
    const merged = mergeOrdered(before, change, field)
    requireSameKind([...(before ?? []), ...(change ?? [])])
    requireIdentities([...merged, ...order], field.mergeKey)
    setField(original, name, orderElements(merged, { patch: order, original: before ?? [] }, identity))
    delete patch[name]
  }
}

function mergeOrdered(
  before: readonly unknown[] | undefined,
  change: readonly unknown[] | undefined,
  field: FieldSchema,
): unknown[] {
  if (change === undefined) return [...(before ?? [])]
  if (before === undefined) return change.filter(each => !isDirective(each)).map(withoutDirectives)
  return field.strategy === 'merge' ? mergeLists(before, change, field) : [...change]
}

interface OrderCheck {
  order: readonly unknown[]
  mergeKey: string
  key: string
}

/** The elements of the patch must be in the order that the patch gives. */
function checkOrder(change: readonly unknown[], { order, mergeKey, key }: OrderCheck): void {
  if (order.length === 0 || change.length === 0) return
  const identity = identityOf(mergeKey)
  const kept = change.filter(element => !isDirective(element))
  requireIdentities([...kept, ...order], mergeKey)
  let at = 0
  for (const element of order) if (at < kept.length && identity(kept[at]) === identity(element)) at++
  if (at < kept.length)
    throw new StrategicPatchError(`the patch has elements that ${key} does not have in this order`)
}

/** Elements with the same merge key are merged, others are added; values without keys are added once. */
function mergeLists(original: readonly unknown[], patch: readonly unknown[], field: FieldSchema): unknown[] {
  if (original.length === 0 && patch.length === 0) return []
  const { mergeKey } = field
  if (requireSameKind([...original, ...patch]) !== 'object') {
    const merged = [...new Set([...original, ...patch])]
    return orderElements(merged, { patch, original }, identityOf(''))
  }
  if (mergeKey === '') throw new StrategicPatchError('the patch merges a list that has no merge key')
  const { before, change } = followListDirectives(original, patch, mergeKey)
  const merged = mergeElements(before, change, field)
  requireIdentities([...merged, ...before, ...change], mergeKey)
  return orderElements(merged, { patch: change, original: before }, identityOf(mergeKey))
}

function mergeElements(
  before: readonly unknown[],
  change: readonly JsonObject[],
  { mergeKey, schema }: FieldSchema,
): unknown[] {
  const merged = [...before]
  const identity = identityOf(mergeKey)
  for (const element of change) {
    requireIdentities([element], mergeKey)
    const at = merged.findIndex(each => identity(each) === identity(element))
    const found = merged[at]
    if (isJsonObject(found)) merged[at] = mergeStrategically(found, element, schema)
    else merged.push(element)
  }
  return merged
}

/** Elements with `$patch` delete the element with their merge key, or all that were there. */
function followListDirectives(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { before: unknown[]; change: JsonObject[] } {
  const identity = identityOf(mergeKey)
  const change: JsonObject[] = []
  let before = [...original]
  let replaced = false
  for (const element of patch.filter(isJsonObject)) {
    if (!isDirective(element)) change.push(element)
    else if (element[directive] === 'replace') replaced = true
    else if (element[directive] === 'delete') {
      requireIdentities([element], mergeKey)
      before = before.filter(each => identity(each) !== identity(element))
    } else throw unknownDirective(element[directive])
  }
  return replaced ? { before: change, change: [] } : { before, change }
}

function requireIdentities(elements: readonly unknown[], mergeKey: string): void {
  if (mergeKey === '') return
  for (const element of elements) {
    if (!isJsonObject(element)) {
      throw new StrategicPatchError(`an element of a list is not an object with the field ${mergeKey}`)
    }
    if (!Object.hasOwn(element, mergeKey)) {
      throw new StrategicPatchError(`an element of a list lacks its merge key ${mergeKey}`)
    }
  }
}

function requireSameKind(elements: readonly unknown[]): string {
  const [kind, ...others] = new Set(elements.map(kindOf))
  if (kind === undefined) throw new StrategicPatchError('an order is given for a list without elements')
  if (kind === 'list') throw new StrategicPatchError('the patch merges a list of lists')
  if (kind === 'null' || others.length > 0) {
    throw new StrategicPatchError('the patch merges a list whose elements are of different types')
  }
  return kind
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (isJsonObject(value)) return 'object'
  return typeof value === 'object' ? 'number' : typeof value
}

function listOf(object: JsonObject, name: string, key: string): unknown[] | undefined {
  const list = fieldOf(object, name)
  if (list === undefined || Array.isArray(list)) return list
  throw new StrategicPatchError(`${key} is for a list, and ${name} is none`)
}

function listName(key: string, prefix: string): string {
  if (!key.startsWith(`${prefix}/`)) throw new StrategicPatchError(`${key} must be ${prefix}/<list>`)
  return key.slice(prefix.length + 1)
}

function isDirective(value: unknown): boolean {
  return isJsonObject(value) && Object.hasOwn(value, directive)
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(each => !isDirective(each)).map(withoutDirectives)
  if (!isJsonObject(value)) return value
  for (const [name, each] of Object.entries(value)) {
    if (isDirective(each)) delete value[name]
    else setField(value, name, withoutDirectives(each))
  }
  return value
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  for (const [name, each] of Object.entries(value)) {
    if (each === null) delete value[name]
    else setField(value, name, withoutNulls(each))
  }
  return value
}

function unknownDirective(wanted: unknown): StrategicPatchError {
  return new StrategicPatchError(`${directive} can be delete or replace, not ${JSON.stringify(wanted)}`)
}
