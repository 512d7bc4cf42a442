import type { KubeObject } from '../object.ts'

/** What happened to an object, as far as this process has seen. `resynced` repeats an object that did not change. */
export type ObjectEvent<T> =
  | { type: 'added'; object: T }
  | { type: 'updated'; object: T; previous: T }
  | { type: 'resynced'; object: T }
  | { type: 'deleted'; object: T }

/**
 * The events that lead from the object known so far to the one just seen. Unchanged versions are silent. An object
 * that was replaced by another of the same name while nobody looked is a deletion and an addition.
 */
export function eventsBetween<T extends KubeObject>(known: T | undefined, seen: T): ObjectEvent<T>[] {
  if (known === undefined) return [{ type: 'added', object: seen }]
  if (known.metadata.uid !== seen.metadata.uid) {
    return [
      { type: 'deleted', object: known },
      { type: 'added', object: seen },
    ]
  }
  if (known.metadata.resourceVersion === seen.metadata.resourceVersion) return []
  return [{ type: 'updated', object: seen, previous: known }]
}
