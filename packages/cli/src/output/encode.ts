import type { ObjectsResult } from './command-result.ts'

/** The JSON or YAML text of a result, ending in a newline. Map keys of YAML are sorted, as Velero's are. */
export async function encodeObjects(
  result: ObjectsResult,
  format: 'json' | 'yaml' | 'name',
): Promise<string> {
  if (format === 'name') return namesOf(result)
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

/** `backup.velero.io/shop`, as kubectl takes it. */
function namesOf({ listKind, objects }: ObjectsResult): string {
  const kind = listKind.kind.replace(/List$/, '').toLowerCase()
  const group = listKind.apiVersion.split('/').at(-2)
  const resource = group === undefined ? kind : `${kind}.${group}`
  const names = (objects as readonly { metadata?: { name?: string } }[]).map(({ metadata }) => metadata?.name)
  return names.map(name => `${resource}/${name ?? ''}\n`).join('')
}
