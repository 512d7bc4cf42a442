import type { ActionItem } from '@lateen/plugin'
import { describeItem, type NamedItem } from '../item/item-error.ts'
import { parseItem } from '../item/item-json.ts'
import { isJsonObject, sameJson } from '../restore/items/same-json.ts'
import { comparable } from './comparable.ts'
import type { ComparedObjects } from './shown-change.ts'

/** The JSON of an object on both sides. */
export interface ComparedBodies {
  item: NamedItem
  before?: Uint8Array | undefined
  after?: Uint8Array | undefined
}

/** An object of a backup that cannot be compared. */
export class UnreadableObjectError extends Error {
  override readonly name = 'UnreadableObjectError'
  readonly code = 'OBJECT_UNREADABLE'
  readonly hint = 'the archive is damaged: compare another backup'

  constructor(item: NamedItem, reason: string, options?: ErrorOptions) {
    super(`${describeItem(item)} cannot be read: ${reason}`, options)
  }
}

/**
 * Both objects, as far as they are worth comparing; undefined when they are the same. Throws UnreadableObjectError. Pure.
 */
export function compareBodies(
  { item, before, after }: ComparedBodies,
  options: { withStatus: boolean },
): ComparedObjects | undefined {
  if (before !== undefined && after !== undefined && Buffer.compare(before, after) === 0) return undefined
  const objects = {
    before: before && comparable(read(item, before), options),
    after: after && comparable(read(item, after), options),
  }
  return sameJson(objects.before, objects.after) ? undefined : objects
}

function read(item: NamedItem, body: Uint8Array): ActionItem {
  let object: unknown
  try {
    object = parseItem(body)
  } catch (cause) {
    throw new UnreadableObjectError(item, (cause as Error).message, { cause })
  }
  if (isJsonObject(object) && isJsonObject(object.metadata)) return object as unknown as ActionItem
  throw new UnreadableObjectError(item, 'it is no object of Kubernetes')
}
