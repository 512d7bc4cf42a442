import { isNotFound, type KubeClient, type ResourceType, type Unstructured } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'
import {
  type CollectedItem,
  type CollectedItems,
  type GroupResource,
  groupResource,
  type ItemRef,
} from '../../item/item.ts'
import { ItemError, messageOf } from '../../item/item-error.ts'
import { parseItem } from '../../item/item-json.ts'
import type { LoadedItem } from './loaded-item.ts'

/** Where bodies come from: what was collected, else the API server. */
export interface ItemSource {
  /** A collected item with its body. Throws ItemError `ITEM_UNREADABLE`. */
  load(item: CollectedItem): Promise<LoadedItem>
  /**
   * Where the named object is, also when it does not exist. Throws ItemError `ITEM_TYPE_UNKNOWN` for a type that the cluster
   * does not have.
   */
  locate(id: ResourceIdentifier): Promise<ItemRef>
  /**
   * The object, in all versions that were collected; empty when there is none. Throws ItemError `ITEM_UNREADABLE`, or the
   * signal's reason.
   */
  read(ref: ItemRef, signal: AbortSignal): Promise<readonly LoadedItem[]>
}

/** Reads discovery once. Throws KubeError. */
export async function createItemSource(
  client: KubeClient,
  collected: Pick<CollectedItems, 'versionsOf' | 'load'>,
): Promise<ItemSource> {
  const preferred = new Map<GroupResource, ResourceType<Unstructured>>()
  for (const type of await client.discovery.preferred()) preferred.set(groupResource(type), type)

  async function load(item: CollectedItem): Promise<LoadedItem> {
    try {
      // A copy, because what the collector hands out holds on to a much larger piece of memory.
      const bytes = Buffer.from(await collected.load(item))
      return { ref: item, collected: true, preferred: item.preferred, bytes, object: parseItem(bytes) }
    } catch (cause) {
      throw unreadable(item, cause)
    }
  }

  async function readLive(ref: ItemRef, signal: AbortSignal): Promise<LoadedItem[]> {
    try {
      const bytes = Buffer.from(await client.getRaw(pathOf(ref), { signal }))
      const isPreferred = preferred.get(ref.groupResource)?.version === ref.type.version
      return [{ ref, collected: false, preferred: isPreferred, bytes, object: parseItem(bytes) }]
    } catch (cause) {
      signal.throwIfAborted()
      if (isNotFound(cause)) return []
      throw unreadable(ref, cause)
    }
  }

  return {
    load,
    async locate({ group, resource, namespace, name }) {
      const named = groupResource({ group, plural: resource })
      const type = preferred.get(named) ?? (await client.discovery.find(named))
      if (type !== undefined) {
        const place = type.namespaced ? namespace : ''
        return { type, groupResource: groupResource(type), namespace: place, name }
      }
      throw new ItemError(
        'ITEM_TYPE_UNKNOWN',
        { groupResource: named, namespace, name },
        {
          reason: 'the cluster has no such resource',
          hint: 'repair the action that names it, or install the definition of the resource',
        },
      )
    },
    async read(ref, signal) {
      const versions = collected.versionsOf(ref)
      return versions.length === 0 ? readLive(ref, signal) : Promise.all(versions.map(load))
    },
  }
}

/** The object's own path, because `get` of the client would round numbers beyond 2^53. */
function pathOf({ type, namespace, name }: ItemRef): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const place = type.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${place}/${type.plural}/${encodeURIComponent(name)}`
}

function unreadable(ref: ItemRef, cause: unknown): ItemError {
  return new ItemError('ITEM_UNREADABLE', ref, {
    reason: `it cannot be read: ${messageOf(cause)}`,
    hint: 'back up again; if it fails again, read the object with kubectl',
    cause,
  })
}
