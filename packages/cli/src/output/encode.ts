import type { ObjectsResult } from './command-result.ts'

/** The JSON or YAML text of a result, ending in a newline. Map keys of YAML are sorted, as Velero's are. */
export async function encodeObjects(result: ObjectsResult, format: 'json' | 'yaml'): Promise<string> {
  const only = result.objects.length === 1 ? result.objects[0] : undefined
  const document = only ?? { ...result.listKind, metadata: {}, items: result.objects }
  if (format === 'json') return `${JSON.stringify(document, null, 2)}\n`
  const { stringify } = await import('yaml')
  return stringify(document, {
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  })
}
