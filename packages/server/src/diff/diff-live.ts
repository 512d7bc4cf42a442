import { type DiscoveredResource, isNotFound, type KubeClient } from '@lateen/kube'
import { type CollectedItem, type CollectedItems, type GroupResource, groupResource } from '../item/item.ts'
import type { ArchivedItem, BackupArchive } from '../restore/archive/backup-archive.ts'
import { compareBodies } from './compare-bodies.ts'
import type { DiffOptions } from './diff-archives.ts'
import type { ObjectChange } from './object-change.ts'

/** A cluster, and what the backup would take from it now. */
export interface LiveSide {
  client: KubeClient
  collected: CollectedItems
}

const encoder = new TextEncoder()

/**
 * What is different in a cluster since a backup was taken, in the order of `diffArchives`. What the backup took along, such as the
 * volumes of claims, is looked for by name. Throws KubeErrors, ScratchError, SyntaxError for a damaged object, and the signal's
 * reason.
 */
export async function* diffLive(
  archive: BackupArchive,
  { client, collected }: LiveSide,
  { withStatus, signal }: DiffOptions,
): AsyncGenerator<ObjectChange> {
  const added = addedTo(archive, collected)
  const served = await servedTypes(client, signal)
  const types = new Set([...archive.types.map(type => type.groupResource), ...added.keys()])
  for (const type of [...types].sort()) {
    for (const item of archive.items(type)) {
      signal.throwIfAborted()
      const found = collected.find(item)
      const after = found ? await collected.load(found) : await fetchItem(item, { client, served, signal })
      const compared = compareBodies({ before: await archive.load(item), after }, { withStatus })
      if (compared === undefined) continue
      const { groupResource: resource, namespace, name } = item
      const change = after === undefined ? 'removed' : 'changed'
      yield { change, groupResource: resource, namespace, name, ...compared }
    }
    for (const item of added.get(type) ?? []) {
      signal.throwIfAborted()
      const compared = compareBodies({ after: await collected.load(item) }, { withStatus })
      const { namespace, name } = item
      yield { change: 'added', groupResource: type, namespace, name, ...compared }
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

/** Undefined when it, its namespace or its type is not there. */
async function fetchItem(
  item: ArchivedItem,
  { client, served, signal }: { client: KubeClient; served: ServedTypes; signal: AbortSignal },
): Promise<Uint8Array | undefined> {
  const type = served.get(item.groupResource)
  if (type === undefined) return undefined
  try {
    const namespace = item.namespace === '' ? undefined : item.namespace
    return encoder.encode(JSON.stringify(await client.resource(type, namespace).get(item.name, { signal })))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
