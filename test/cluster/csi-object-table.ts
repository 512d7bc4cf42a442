import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { KubeObject } from '@lateen/kube'

/** A line of the table of objects in `docs/csi.md`. */
export interface ObjectRow {
  /** What the object is made for, such as `moved backup`. */
  readonly for: string
  /** Only under a condition that is named. */
  readonly rare: boolean
  readonly kind: string
  /** With `<…>` for what differs. */
  readonly name: string
  readonly place: '' | "the claim's" | "the server's"
  readonly knownBy: string
  readonly when: string
  /** As it is written, for messages. */
  readonly text: string
}

const file = path.resolve(import.meta.dirname, '../../docs/csi.md')
const heading = '| for | kind | name | namespace | known by | who deletes it | when |'

/** Reads the table. Throws when it is not there. */
export async function readObjectTable(): Promise<ObjectRow[]> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`docs/csi.md has no table with the heading ${heading}`)
  const rest = lines.slice(start + 2)
  const end = rest.findIndex(line => !line.startsWith('|'))
  return rest.slice(0, end < 0 ? undefined : end).map(rowOf)
}

function rowOf(text: string): ObjectRow {
  const cells = text.split('|').map(cell => cell.trim())
  const [, reason = '', kind = '', name = '', place = '', knownBy = '', , when = ''] = cells
  if (place !== '' && place !== "the claim's" && place !== "the server's") {
    throw new Error(`unknown namespace in: ${text}`)
  }
  const [work = '', ...conditions] = reason.split(',')
  return {
    for: work,
    rare: conditions.length > 0,
    ...{ kind, name: name.replaceAll('`', ''), place, knownBy, when, text },
  }
}

/** What names of a line may stand for in a test. */
export interface NamesInUse {
  readonly claim: readonly string[]
  readonly backup: readonly string[]
  readonly restore: readonly string[]
  readonly DataUpload: readonly string[]
  readonly DataDownload: readonly string[]
}

const forms: Readonly<Record<string, string>> = {
  uid: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  hash: '(?:[0-9a-f]{64}|[0-9a-f]{16})',
  random: '[a-z0-9]{5,}',
  group: '[a-z0-9-]+',
  namespace: '[a-z0-9-]+',
  location: '[a-z0-9-]+',
}

/** Whether a name is one that a line has. */
export function nameFits(row: ObjectRow, name: string, names: NamesInUse): boolean {
  const known: Readonly<Record<string, readonly string[]>> = { ...names }
  const pattern = row.name.replaceAll(/<(\w+)>/g, (_, word: string) => {
    const form = forms[word] ?? known[word]?.map(each => RegExp.escape(each)).join('|')
    if (form === undefined) throw new Error(`nobody knows what <${word}> is in: ${row.text}`)
    return `(?:${form || '(?!)'})`
  })
  return new RegExp(`^${pattern}$`).test(name)
}

/** What a line says an object is known by and it is not; undefined when it is. */
export function lacks({ knownBy }: ObjectRow, { metadata }: KubeObject): string | undefined {
  const owner = /^owner: the (\w+)$/.exec(knownBy)?.[1]
  if (owner !== undefined) {
    return metadata.ownerReferences?.some(({ kind }) => kind === owner) ? undefined : `the owner ${owner}`
  }
  if (!/^labels? /.test(knownBy)) return undefined
  return [...knownBy.matchAll(/`([^`]+)`/g)]
    .map(([, label = '']) => label)
    .find(label => !metadata.labels?.[label])
}
