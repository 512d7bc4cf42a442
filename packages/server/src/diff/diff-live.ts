import { type DiscoveredResource, type KubeClient, unlessNotFound } from '@lateen/kube'
import { type CollectedItem, type CollectedItems, type GroupResource, groupResource } from '../item/item.ts'
import type { ArchivedItem, BackupArchive } from '../restore/archive/backup-archive.ts'
import { compareBodies } from './compare-bodies.ts'
import type { DiffOptions } from './diff-archives.ts'
import type { ObjectChange } from './object-change.ts'

/** A cluster, and what the backup would take from it now. */
export interface LiveSide {
  client: KubeClient
  collected: CollectedItems
  /** Hears of what could not be compared. */
  onNote(note: string): void
}

const encoder = new TextEncoder()

/**
 * What is different in a cluster since a backup was taken, in the order of `diffArchives`. What the backup took along, such as the
 * volumes of claims, is looked for by name. Throws KubeErrors, ScratchError, UnreadableObjectError, and the signal's reason.
 */
export async function* diffLive(
  archive: BackupArchive,
  side: LiveSide,
  options: DiffOptions,
): AsyncGenerator<ObjectChange> {
  const { client, collected, onNote } = side
  const added = addedTo(archive, collected)
  const served = await servedTypes(client, options.signal)
  const unreadable = await unreadableGroups(client, options.signal)
  const types = new Set([...archive.types.map(type => type.groupResource), ...added.keys()])
  for (const type of [...types].sort()) {
    if (!served.has(type) && unreadable.has(groupOf(type))) {
      onNote(`${type} is not compared: the API server cannot tell of its group now`)
      continue
    }
    yield* changesOf(type, { archive, collected, client, served, ...options })
    for (const item of added.get(type) ?? []) {
      options.signal.throwIfAborted()
      const compared = compareBodies({ item, after: await collected.load(item) }, options)
      const { namespace, name } = item
      yield { change: 'added', groupResource: type, namespace, name, ...compared }
    }
  }
}

interface TypeSides extends DiffOptions, Pick<LiveSide, 'client' | 'collected'> {
  archive: BackupArchive
  served: ServedTypes
}

/** What became of the objects of a type that the backup has. */
async function* changesOf(type: GroupResource, sides: TypeSides): AsyncGenerator<ObjectChange> {
  const { archive, collected, withStatus, signal } = sides
  for (const item of archive.items(type)) {
    signal.throwIfAborted()
    const found = collected.find(item)
    const after = found ? await collected.load(found) : await fetchItem(item, sides)
    const compared = compareBodies({ item, before: await archive.load(item), after }, { withStatus })
    if (compared === undefined) continue
    const { namespace, name } = item
    yield {
      change: after === undefined ? 'removed' : 'changed',
      groupResource: type,
      namespace,
      name,
      ...compared,
    }
  }
}

/** By type. Other versions of the same object are not others. */
function addedTo(archive: BackupArchive, collected: CollectedItems): Map<GroupResource, CollectedItem[]> {
  const added = new Map<GroupResource, CollectedItem[]>()
  for (const item of collected) {
    if (!item.preferred || item.excludedByLabel || archive.find(item) !== undefined) continue
    const list = added.get(item.groupResource) ?? []
    list.push(item)
    added.set(item.groupResource, list)
  }
  return added
}

type ServedTypes = ReadonlyMap<GroupResource, DiscoveredResource>

async function servedTypes(client: KubeClient, signal: AbortSignal): Promise<ServedTypes> {
  const preferred = await client.discovery.preferred({ signal })
  return new Map(preferred.map(type => [groupResource(type), type]))
}

/** Groups that are there, but whose server does not answer. */
async function unreadableGroups(client: KubeClient, signal: AbortSignal): Promise<ReadonlySet<string>> {
  return new Set((await client.discovery.failures({ signal })).map(({ group }) => group))
}

function groupOf(type: GroupResource): string {
  const [, ...group] = type.split('.')
  return group.join('.')
}

/** Undefined when it, its namespace or its type is not there. */
async function fetchItem(
  item: ArchivedItem,
  { client, served, signal }: Pick<TypeSides, 'client' | 'served' | 'signal'>,
): Promise<Uint8Array | undefined> {
  const type = served.get(item.groupResource)
  if (type === undefined) return undefined
  const namespace = item.namespace === '' ? undefined : item.namespace
  const live = await client.resource(type, namespace).get(item.name, { signal }).catch(unlessNotFound)
  return live && encoder.encode(JSON.stringify(live))
}
