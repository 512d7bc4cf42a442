/**
 * The names and kinds of all fields of a JSON document, sorted: elements of a list count as one, and empty values not at all. Fields below
 * one whose path matches `but` are left out.
 */
export function fieldsOf(document: unknown, but: readonly RegExp[] = []): string[] {
  const fields = new Set<string>()
  const visit = (value: unknown, at: string): void => {
    if (value === null || value === undefined || but.some(pattern => pattern.test(at))) return
    if (typeof value !== 'object') return void fields.add(`${at} ${typeof value}`)
    for (const [name, part] of Object.entries(value))
      visit(part, Array.isArray(value) ? `${at}[]` : `${at}.${name}`)
  }
  visit(document, '')
  return [...fields].toSorted()
}
