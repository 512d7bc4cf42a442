import { isJsonObject } from '../items/same-json.ts'
import { copyJson, fieldOf, type JsonObject, setField } from './copy-json.ts'

/**
 * Applies a merge patch (RFC 7386) to an object, which is changed. As in Velero, which goes beyond the RFC there, fields that are
 * null are also left out of objects in lists, unless the list takes the place of an object.
 */
export function mergeInto(target: JsonObject, patch: Readonly<JsonObject>): void {
  for (const [name, value] of Object.entries(patch)) {
    const current = fieldOf(target, name)
    if (value === null) delete target[name]
    else if (isJsonObject(current) && isJsonObject(value)) mergeInto(current, value)
    else setField(target, name, isJsonObject(current) ? copyJson(value) : withoutNulls(value))
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  const kept: JsonObject = {}
  for (const [name, each] of Object.entries(value)) {
    if (each !== null) setField(kept, name, withoutNulls(each))
  }
  return kept
}
