/** Part of Node since 22, and of the language, but not yet of the compiler's library. */
const json = JSON as typeof JSON & { isRawJSON(value: unknown): value is { rawJSON: string } }

/** An object of JSON: neither a list nor a number that is kept as it was written. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
}

/**
 * Whether two values of JSON are the same. A long integer that is kept as it was written equals the number that a reader without
 * such care makes of it: one that read both would see no difference.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (json.isRawJSON(a) || json.isRawJSON(b)) return numberOf(a) === numberOf(b)
  if (Array.isArray(a)) return Array.isArray(b) && sameList(a, b)
  return isJsonObject(a) && isJsonObject(b) && sameObject(a, b)
}

function numberOf(value: unknown): unknown {
  return json.isRawJSON(value) ? Number(value.rawJSON) : value
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => sameJson(value, b[index]))
}

function sameObject(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}
