import { parseItem } from '../item/item-json.ts'
import { sameJson } from '../restore/items/same-json.ts'
import { comparable } from './comparable.ts'
import type { ComparedObjects } from './shown-change.ts'

/** The JSON of an object on both sides. */
export interface ComparedBodies {
  before?: Uint8Array | undefined
  after?: Uint8Array | undefined
}

/**
 * Both objects, as far as they are worth comparing; undefined when they are the same. Throws SyntaxError for what is no JSON.
 * Pure.
 */
export function compareBodies(
  { before, after }: ComparedBodies,
  options: { withStatus: boolean },
): ComparedObjects | undefined {
  if (before !== undefined && after !== undefined && Buffer.compare(before, after) === 0) return undefined
  const read = (body: Uint8Array | undefined) => body && comparable(parseItem(body), options)
  const objects = { before: read(before), after: read(after) }
  return sameJson(objects.before, objects.after) ? undefined : objects
}
