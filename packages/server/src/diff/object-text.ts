import { stringify } from 'yaml'
import { isJsonObject } from '../restore/items/same-json.ts'

const json = JSON as typeof JSON & { isRawJSON(value: unknown): value is { rawJSON: string } }

/** An object as lines of YAML with sorted keys, so that the same object is always the same text. Undefined is no line. */
export function objectLines(object: unknown): string[] {
  if (object === undefined) return []
  const text = stringify(plainNumbers(object), {
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  })
  return text.replace(/\n$/, '').split('\n')
}

/** Long integers are kept as they were written, which YAML knows as another type. */
function plainNumbers(value: unknown): unknown {
  if (json.isRawJSON(value)) return BigInt(value.rawJSON)
  if (Array.isArray(value)) return value.map(plainNumbers)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainNumbers(each)]))
}
