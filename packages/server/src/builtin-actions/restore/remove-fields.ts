/** Removes fields from an object. */
export function removeFields(from: object, names: readonly string[]): void {
  for (const name of names) Reflect.deleteProperty(from, name)
}

/** Removes entries from a mapping that is a field of an object, and the mapping when nothing is left in it. */
export function removeEntries(from: object, field: string, names: readonly string[]): void {
  const mapping: unknown = Reflect.get(from, field)
  if (typeof mapping !== 'object' || mapping === null) return
  removeFields(mapping, names)
  if (Object.keys(mapping).length === 0) removeFields(from, [field])
}
