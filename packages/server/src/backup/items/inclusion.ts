import { labelNames } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { BackupScope, FineFilter } from '../../filters/scope.ts'
import type { GroupResource, ItemRef } from '../../item/item.ts'

/** Why an item does not belong to the backup. */
export type Exclusion = 'excludeLabel' | 'namespace' | 'resource' | 'name' | 'terminating'

/** What the log says about each. */
export const exclusionMessages: Readonly<Record<Exclusion, string>> = {
  excludeLabel: `Left out: the item has the label ${labelNames.excludeFromBackup}=true`,
  namespace: 'Left out: its namespace is not part of the backup',
  resource: 'Left out: its resource is not part of the backup',
  name: 'Left out: its name is not among those that the resource policy takes',
  terminating: 'Left out: the item is being deleted',
}

/** An item as these checks see it. */
export interface CheckedItem {
  ref: ItemRef
  metadata: ActionItem['metadata']
  /** Brought along by an action that insists on it: only an item that is being deleted is left out. */
  mustInclude: boolean
}

/** The checks that every item passes before it is stored. */
export interface Inclusion {
  /** Why an item is left out; undefined when it is not. */
  exclusionOf(item: CheckedItem): Exclusion | undefined
  /** The same without looking at the object, which neither has the label nor is being deleted. */
  exclusionOfPlace(ref: ItemRef): Exclusion | undefined
}

interface Place {
  exclusion: Exclusion | undefined
  fine: FineFilter | undefined
}

/**
 * Inclusion by a scope. The collector has looked at all of this but the label and the deletion, for what it collected;
 * items that actions bring along come here first.
 */
export function createInclusion(scope: BackupScope): Inclusion {
  const places = new Map<GroupResource, Map<string, Place>>()

  function placeOf({ groupResource, namespace, type }: ItemRef): Place {
    let ofType = places.get(groupResource)
    if (ofType === undefined) {
      ofType = new Map()
      places.set(groupResource, ofType)
    }
    let place = ofType.get(namespace)
    if (place === undefined) {
      place = judgePlace(scope, { groupResource, namespaced: type.namespaced }, namespace)
      ofType.set(namespace, place)
    }
    return place
  }

  function exclusionOfPlace(ref: ItemRef): Exclusion | undefined {
    const { exclusion, fine } = placeOf(ref)
    if (exclusion !== undefined) return exclusion
    return fine === undefined || fine.includesName(ref.name) ? undefined : 'name'
  }

  return {
    exclusionOfPlace,
    exclusionOf({ ref, metadata, mustInclude }) {
      const excluded = mustInclude
        ? undefined
        : metadata.labels?.[labelNames.excludeFromBackup] === 'true'
          ? 'excludeLabel'
          : exclusionOfPlace(ref)
      return excluded ?? (metadata.deletionTimestamp === undefined ? undefined : 'terminating')
    },
  }
}

function judgePlace(
  scope: BackupScope,
  type: { groupResource: GroupResource; namespaced: boolean },
  namespace: string,
): Place {
  const fine = scope.fineFilter(type, namespace)
  const exclusion =
    namespace !== '' && !scope.namespaces.includes(namespace)
      ? 'namespace'
      : scope.resources.admits(type)
        ? undefined
        : 'resource'
  // A type that the policy does not list at all may still be brought along, as Velero has it.
  return { exclusion, fine: fine === 'excluded' ? undefined : fine }
}
