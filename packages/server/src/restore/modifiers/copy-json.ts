import { isJsonObject } from '../items/same-json.ts'

/** An object of JSON. */
export type JsonObject = Record<string, unknown>

/** A value of JSON that shares nothing with the given one that could be changed. Long integers stay as they were written. */
export function copyJson<T>(value: T): T
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => copyJson(each))
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const [name, each] of Object.entries(value)) setField(copy, name, copyJson(each))
  return copy
}

/** Sets a field whatever its name is; an assignment to `__proto__` would do something else. */
export function setField(object: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** The value of a field that the object has itself; undefined when it does not. */
export function fieldOf(object: Readonly<JsonObject>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
