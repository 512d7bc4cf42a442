import type { KubeClient, Unstructured } from '@lateen/kube'
import { firstFreeNodePort } from './restore-scene.ts'

/** Objects of a cluster by `resource.group namespace/name`, without what is the cluster's own business. */
export type ClusterContents = ReadonlyMap<string, Unstructured>

/** Which objects are looked at. */
export interface ContentsOptions {
  /** Namespaces that are somebody else's. */
  without: readonly string[]
  /** Whether it counts who owns which field. */
  owners?: boolean
}

/** Written again and again by the cluster itself, or different in each. */
const restless = new Set([
  'leases.coordination.k8s.io',
  'events',
  'events.events.k8s.io',
  'componentstatuses',
  'ipaddresses.networking.k8s.io',
  'servicecidrs.networking.k8s.io',
  // A controller deletes those that come from a backup, and makes new ones.
  'endpointslices.discovery.k8s.io',
])

const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/**
 * What a cluster holds, in a form in which that of another cluster that went through the same is equal: uids are replaced by what has
 * them, and what each server or cluster chooses for itself (times, versions, addresses, generated names) by a word for it.
 */
export async function clusterContents(
  client: KubeClient,
  { without, owners = false }: ContentsOptions,
): Promise<ClusterContents> {
  await client.discovery.refresh()
  const types = (await client.discovery.preferred()).filter(
    ({ verbs, plural, group }) => verbs.includes('list') && !restless.has(nameOf({ plural, group })),
  )
  const ignored = new Set([...systemNamespaces, ...without])
  const found = new Map<string, Unstructured>()
  const lists = await Promise.all(
    types.map(async type => ({ type, objects: await client.resource(type).list().toArray() })),
  )
  for (const { type, objects } of lists) {
    for (const object of objects) {
      const { namespace = '', name = '' } = object.metadata
      if (ignored.has(type.plural === 'namespaces' ? name : namespace)) continue
      const key = keyOf(nameOf(type), object)
      found.set(found.has(key) ? `${key} (another)` : key, object)
    }
  }
  return comparable(found, owners)
}

function keyOf(type: string, object: Unstructured): string {
  const { namespace = '' } = object.metadata
  const name = generatedName(object) ?? object.metadata.name
  return `${type} ${namespace === '' ? name : `${namespace}/${name}`}`
}

function generatedName({ metadata: { name = '', generateName } }: Unstructured): string | undefined {
  return generateName && name.startsWith(generateName) ? `${generateName}<generated>` : undefined
}

function nameOf({ plural, group }: { plural: string; group: string }): string {
  return group === '' ? plural : `${plural}.${group}`
}

function comparable(found: Map<string, Unstructured>, owners: boolean): ClusterContents {
  const named = new Map([...found].map(([key, { metadata }]) => [metadata.uid ?? '', `<uid of ${key}>`]))
  const word = (text: string): string => {
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) return '<time>'
    return text
      .replace(uuid, uid => named.get(uid) ?? uid)
      .replace(/^kube-api-access-[a-z0-9]{5}$/, '<token volume>')
  }
  const entries = [...found].map(([key, object]) => {
    const text = JSON.stringify(object, (_, value) => (typeof value === 'string' ? word(value) : value))
    const fieldOwners = owners ? { fieldOwners: ownersOf(object) } : {}
    return [key, { ...withoutChoices(JSON.parse(text)), ...fieldOwners }] as const
  })
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Fields = any

function withoutChoices(object: Unstructured): Unstructured {
  const { resourceVersion: _, uid: __, managedFields: ___, ...metadata } = object.metadata
  const kept: Fields = { ...object, metadata }
  const restore = metadata.labels?.['velero.io/restore-name']
  if (restore) kept.metadata.labels['velero.io/restore-name'] = restore.replace(/-(ours|theirs)$/, '')
  kept.metadata.name = generatedName(object) ?? metadata.name
  if (object.kind === 'Service') hideAddresses(kept.spec)
  if (object.type === 'kubernetes.io/service-account-token') {
    for (const key of Object.keys(kept.data ?? {})) kept.data[key] = '<token>'
  }
  if (object.kind === 'ConfigMap' && metadata.name === 'kube-root-ca.crt') kept.data = {}
  if (kept.spec?.claimRef?.resourceVersion) kept.spec.claimRef.resourceVersion = '<version>'
  return kept
}

function hideAddresses(spec: Fields): void {
  if (spec.clusterIP && spec.clusterIP !== 'None') {
    spec.clusterIP = '<address>'
    spec.clusterIPs = ['<address>']
  }
  for (const port of spec.ports ?? []) {
    // Ports that a test chooses itself are at the start of the range.
    if (port.nodePort >= firstFreeNodePort) port.nodePort = '<port>'
  }
}

interface FieldOwner {
  manager: string
  operation: string
  subresource?: string
  fieldsV1: unknown
}

/**
 * Who has set fields of an object, but for its status and for what the cluster's own controllers have set. Which fields those are
 * counts for those who apply: only they are asked about it later.
 */
function ownersOf({ metadata }: Unstructured): unknown[] {
  const entries = (metadata.managedFields ?? []) as FieldOwner[]
  return entries
    .filter(({ manager, subresource }) => !subresource && !/^kube-|^velero|^lateen/.test(manager))
    .map(({ manager, operation, fieldsV1 }) => ({
      manager,
      operation,
      ...(operation === 'Apply' && { fieldsV1 }),
    }))
    .toSorted((a, b) => (a.manager + a.operation < b.manager + b.operation ? -1 : 1))
}
