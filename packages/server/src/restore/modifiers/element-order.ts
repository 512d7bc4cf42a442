import { isJsonObject } from '../items/same-json.ts'

/** Tells the elements of a list apart: the value of the merge key, or the element itself where there is none. */
export function identityOf(mergeKey: string): (element: unknown) => unknown {
  if (mergeKey === '') return element => element
  return element =>
    isJsonObject(element) && Object.hasOwn(element, mergeKey) ? element[mergeKey] : undefined
}

export interface ElementOrder {
  /** The order of the elements that the patch names. */
  readonly patch: readonly unknown[]
  /** The order of the elements that were there before. */
  readonly original: readonly unknown[]
}

/**
 * Brings the elements of a merged list into order: those that the patch names as it names them, the others as they
 * were, each of the others before the first named one that it was before.
 */
export function orderElements(
  merged: readonly unknown[],
  { patch, original }: ElementOrder,
  identity: (element: unknown) => unknown,
): unknown[] {
  const inPatch = positions(patch, identity)
  const inOriginal = positions(original, identity)
  const named = sorted(
    merged.filter(element => inPatch.has(identity(element))),
    element => inPatch.get(identity(element)),
  )
  const others = sorted(
    merged.filter(element => !inPatch.has(identity(element))),
    element => inOriginal.get(identity(element)),
  )
  return interleave(others, named, element => inOriginal.get(identity(element)))
}

type Position = (element: unknown) => number | undefined

function positions(list: readonly unknown[], identity: (element: unknown) => unknown): Map<unknown, number> {
  const found = new Map<unknown, number>()
  for (const [index, element] of list.entries()) {
    const id = identity(element)
    if (!found.has(id)) found.set(id, index)
  }
  return found
}

/** Elements without a position go before all that came before them, as with the sort that API servers use. */
function sorted(elements: readonly unknown[], position: Position): unknown[] {
  if (elements.every(element => position(element) !== undefined)) {
    return elements.toSorted((a, b) => (position(a) ?? 0) - (position(b) ?? 0))
  }
  const result: unknown[] = []
  for (const element of elements) {
    const own = position(element)
    let at = result.length
    while (at > 0 && goesBefore(own, position(result[at - 1]))) at--
    result.splice(at, 0, element)
  }
  return result
}

function goesBefore(own: number | undefined, other: number | undefined): boolean {
  return own === undefined || other === undefined || own < other
}

function interleave(others: readonly unknown[], named: readonly unknown[], position: Position): unknown[] {
  const result: unknown[] = []
  let next = 0
  for (const element of named) {
    const limit = position(element)
    while (next < others.length && isLess(position(others[next]), limit)) result.push(others[next++])
    result.push(element)
  }
  return [...result, ...others.slice(next)]
}

function isLess(own: number | undefined, limit: number | undefined): boolean {
  return own !== undefined && limit !== undefined && own < limit
}
