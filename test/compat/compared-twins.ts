import { isDeepStrictEqual } from 'node:util'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { type ClusterContents, clusterContents } from './cluster-contents.ts'
import { type RestoreTwins, serverNamespace } from './restore-twins.ts'

/** What differs between the two clusters and is not known already. Controllers get some time to make them equal. */
export async function twinDifferences(
  { ours, theirs }: RestoreTwins,
  { known = new Set(), owners = false }: { known?: ReadonlySet<string>; owners?: boolean } = {},
): Promise<string[]> {
  let differences: string[] = []
  const compare = async () => {
    const [our, their] = await Promise.all(
      [ours, theirs].map(({ client }) => clusterContents(client, { without: [serverNamespace], owners })),
    )
    differences = differencesOf(our!, their!).filter(text => !known.has(text))
    return differences.length === 0
  }
  const failure = () => new Error('they stay different')
  await waitUntil(compare, { timeoutMs: 120_000, everyMs: 300, failure }).catch(() => undefined)
  return differences
}

function differencesOf(ours: ClusterContents, theirs: ClusterContents): string[] {
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])]
  return keys.flatMap(key => {
    const [our, their] = [ours.get(key), theirs.get(key)]
    if (our === undefined) return [`${key}: only there`]
    if (their === undefined) return [`${key}: only here`]
    return fieldDifferences(our, their).map(text => `${key}: ${text}`)
  })
}

function fieldDifferences(ours: unknown, theirs: unknown, path = ''): string[] {
  if (isDeepStrictEqual(ours, theirs)) return []
  if (!isObject(ours) || !isObject(theirs)) {
    return [`${path} is ${JSON.stringify(ours)} here, ${JSON.stringify(theirs)} there`]
  }
  const keys = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
  return keys.flatMap(key => fieldDifferences(ours[key], theirs[key], `${path}/${key}`))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
