/** Reads values of unknown shape and remembers everything that is wrong with them, by path. */
export class FieldReader {
  readonly problems: string[] = []

  problem(path: string, reason: string): void {
    this.problems.push(`${path}: ${reason}`)
  }

  /** The fields of a mapping; those that are not in `known` are problems. An absent or empty value has no fields. */
  fields<Name extends string>(
    value: unknown,
    path: string,
    known: readonly Name[],
  ): Readonly<Partial<Record<Name, unknown>>> {
    const none: Partial<Record<Name, unknown>> = Object.create(null)
    if (value === undefined || value === null) return none
    if (!isMapping(value)) {
      this.problem(path, `must be a mapping, not ${kindOf(value)}`)
      return none
    }
    for (const name of Object.keys(value)) {
      if (!known.some(each => each === name))
        this.problem(path === '' ? name : `${path}.${name}`, 'unknown field')
    }
    return value as Partial<Record<Name, unknown>>
  }

  /** The items of a list with their paths. */
  items(value: unknown, path: string): { item: unknown; path: string }[] {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) {
      this.problem(path, `must be a list, not ${kindOf(value)}`)
      return []
    }
    return value.map((item: unknown, index) => ({ item, path: `${path}[${index}]` }))
  }

  /** Text; numbers and truth values count as what was written. Empty when absent. */
  text(value: unknown, path: string): string {
    if (value === undefined || value === null) return ''
    if (typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    this.problem(path, `must be text, not ${kindOf(value)}`)
    return ''
  }

  /** Text and nothing that would have to be turned into it. */
  properText(value: unknown, path: string): string {
    if (value === undefined || typeof value === 'string') return value ?? ''
    this.problem(path, `must be text, not ${kindOf(value)}`)
    return ''
  }

  texts(value: unknown, path: string): string[] {
    return this.items(value, path).map(each => this.text(each.item, each.path))
  }

  /** A mapping of any names to texts. */
  textMap(value: unknown, path: string): Record<string, string> {
    const fields = this.mapping(value, path)
    return Object.fromEntries(
      Object.entries(fields).map(([name, each]) => [name, this.text(each, `${path}.${name}`)]),
    )
  }

  /** A mapping of any names to anything. */
  mapping(value: unknown, path: string): Readonly<Record<string, unknown>> {
    return this.fields(value, path, isMapping(value) ? Object.keys(value) : [])
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'object':
      return 'a mapping'
    case 'string':
      return 'text'
    case 'boolean':
      return 'true or false'
    default:
      return `a ${typeof value}`
  }
}
