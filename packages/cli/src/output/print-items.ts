import { stringify } from 'yaml'

/** A document with a long list, of which only one item is in memory at a time. */
export interface ItemsDocument {
  /** Fields before the list. */
  readonly head: object
  readonly items: AsyncIterable<object>
  /** Fields behind the list; asked for when the list has ended. */
  readonly tail: () => object
}

/** The JSON text of a document, piece by piece. */
export async function* itemsAsJson({ head, items, tail }: ItemsDocument): AsyncGenerator<string> {
  const start = fieldsOf(head)
  yield `{\n${start === '' ? '' : `${start},\n`}  "items": [`
  let before = '\n'
  for await (const item of items) {
    yield before + JSON.stringify(item, null, 2).replace(/^/gm, '    ')
    before = ',\n'
  }
  const end = fieldsOf(tail())
  yield `${before === '\n' ? '' : '\n  '}]${end === '' ? '' : `,\n${end}`}\n}\n`
}

/** The lines of an object's fields, without its braces. */
function fieldsOf(object: object): string {
  return JSON.stringify(object, null, 2).replace(/^\{\n?|\n?\}$/g, '')
}

/** The YAML text of a document, piece by piece. */
export async function* itemsAsYaml({ head, items, tail }: ItemsDocument): AsyncGenerator<string> {
  yield yamlOf(head)
  let before = 'items:\n'
  for await (const item of items) {
    yield before + yamlOf([item])
    before = ''
  }
  if (before !== '') yield 'items: []\n'
  yield yamlOf(tail())
}

function yamlOf(value: object): string {
  if (Object.keys(value).length === 0) return ''
  return stringify(value, plainNumber, { indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false })
}

const json = JSON as typeof JSON & { isRawJSON(value: unknown): value is { rawJSON: string } }

/** Long integers are kept as they were written, which YAML knows as another type. */
function plainNumber(_key: unknown, value: unknown): unknown {
  return json.isRawJSON(value) ? BigInt(value.rawJSON) : value
}
