import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { GeneratedFiles } from './generated-files.ts'

const run = promisify(execFile)

/** The release of Kubernetes whose types are described. */
const kubernetesVersion = 'v1.34.4'
const path = 'packages/server/src/restore/modifiers/patch-strategies.ts'
const root = join(import.meta.dirname, '..', '..')

/** A definition of an OpenAPI document, as far as strategic merge patches are concerned. */
interface Definition {
  properties?: Record<string, Property>
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
}

interface Property {
  $ref?: string
  items?: { $ref?: string }
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
}

type Definitions = Readonly<Record<string, Definition>>

/** What the OpenAPI document of an API server says about strategic merge patches: kinds by API version, and fields by type. */
export interface PatchTable {
  kinds: Map<string, { types: string; kinds: string[] }>
  fields: Map<string, string>
}

/**
 * The table of strategic merge patches, from the OpenAPI document in the sources of Kubernetes. Where Go has not
 * downloaded them (`go mod download k8s.io/kubernetes@…`), the table is taken to be right.
 */
export async function generatePatchStrategies(): Promise<GeneratedFiles> {
  const document = await readSwagger()
  if (document === undefined) return new Map([[path, await readFile(join(root, path), 'utf8')]])
  return new Map([[path, print(patchTable(JSON.parse(document).definitions))]])
}

/** Reads the definitions of an OpenAPI document. */
export function patchTable(definitions: Definitions): PatchTable {
  const kept = typesToKeep(definitions)
  const fields = new Map<string, string>()
  for (const [name, { properties = {} }] of byName(definitions)) {
    if (kept.has(name)) fields.set(shortName(name), fieldsOf(properties, kept))
  }
  const kinds: PatchTable['kinds'] = new Map()
  for (const [name, definition] of byName(definitions)) {
    const kind = objectKind(definition)
    if (kind === undefined) continue
    const types = shortName(name).slice(0, -kind.kind.length - 1)
    const known = kinds.get(kind.apiVersion) ?? { types, kinds: [] }
    if (known.types !== types)
      throw new Error(`${kind.apiVersion} has types in ${types} and in ${known.types}`)
    known.kinds.push(kind.kind)
    kinds.set(kind.apiVersion, known)
  }
  return { kinds: new Map([...kinds].sort()), fields }
}

/** Types with a field that has a strategy, and those that lead to one. */
function typesToKeep(definitions: Definitions): ReadonlySet<string> {
  const kept = new Set<string>()
  for (let before = -1; before < kept.size; ) {
    before = kept.size
    for (const [name, { properties = {} }] of Object.entries(definitions)) {
      if (Object.values(properties).some(property => fieldText('x', property, kept) !== undefined))
        kept.add(name)
    }
  }
  return kept
}

function fieldsOf(properties: Record<string, Property>, kept: ReadonlySet<string>): string {
  return byName(properties)
    .map(([name, property]) => fieldText(name, property, kept))
    .filter(text => text !== undefined)
    .join(' ')
}

function fieldText(name: string, property: Property, kept: ReadonlySet<string>): string | undefined {
  const strategies = (property['x-kubernetes-patch-strategy'] ?? '').split(',')
  const merge = strategies.includes('merge') ? `[${property['x-kubernetes-patch-merge-key'] ?? ''}]` : ''
  const replace = strategies.includes('replace') ? '!' : ''
  const type = (property.$ref ?? property.items?.$ref ?? '').replace('#/definitions/', '')
  const leads = kept.has(type) ? `:${shortName(type)}` : ''
  return merge + replace + leads === '' ? undefined : name + merge + replace + leads
}

/** The kind of a definition whose objects are stored; lists and requests are not. */
function objectKind(definition: Definition): { apiVersion: string; kind: string } | undefined {
  const [only, ...others] = definition['x-kubernetes-group-version-kind'] ?? []
  const hasMetadata = definition.properties?.metadata?.$ref?.endsWith('.meta.v1.ObjectMeta') ?? false
  if (only === undefined || others.length > 0 || !hasMetadata) return undefined
  return { apiVersion: only.group === '' ? only.version : `${only.group}/${only.version}`, kind: only.kind }
}

/** `io.k8s.api.core.v1.Pod` is `core.v1.Pod`. */
function shortName(name: string): string {
  return name.split('.').slice(-3).join('.')
}

function byName<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}

async function readSwagger(): Promise<string | undefined> {
  try {
    const { stdout } = await run('go', ['env', 'GOMODCACHE'])
    const module = join(stdout.trim(), 'k8s.io', `kubernetes@${kubernetesVersion}`)
    return await readFile(join(module, 'api', 'openapi-spec', 'swagger.json'), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function print({ kinds, fields }: PatchTable): string {
  const lines = [
    `// Written by npm run gen from the OpenAPI document of Kubernetes ${kubernetesVersion}.`,
    '',
    '/** The kinds of an API version, and what the names of their types begin with. */',
    'export const patchKinds: Readonly<Record<string, { types: string; kinds: readonly string[] }>> = {',
    ...[...kinds].flatMap(([apiVersion, entry]) => printKinds(apiVersion, entry)),
    '}',
    '',
    '/**',
    ' * The fields of types that strategic merge patches treat in a special way, or in which such fields are. `[name]` is a list that',
    ' * is merged by this key, `[]` one of plain values, `!` an object that is replaced; after the colon follows the type.',
    ' */',
    'export const patchFields: Readonly<Record<string, string>> = {',
    ...[...fields].map(([type, text]) => printField(type, text)),
    '}',
    '',
  ]
  return lines.join('\n')
}

const lineWidth = 110

function printKinds(apiVersion: string, { types, kinds }: { types: string; kinds: string[] }): string[] {
  const name = /^\w+$/.test(apiVersion) ? apiVersion : `'${apiVersion}'`
  const listed = `[${kinds.map(kind => `'${kind}'`).join(', ')}]`
  const one = `  ${name}: { types: '${types}', kinds: ${listed} },`
  if (one.length <= lineWidth) return [one]
  const list = `    kinds: ${listed},`
  const body =
    list.length <= lineWidth ? [list] : ['    kinds: [', ...kinds.map(kind => `      '${kind}',`), '    ],']
  return [`  ${name}: {`, `    types: '${types}',`, ...body, '  },']
}

function printField(type: string, text: string): string {
  const one = `  '${type}': '${text}',`
  return one.length <= lineWidth ? one : `  '${type}':\n    '${text}',`
}
