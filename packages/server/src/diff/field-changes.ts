import { isJsonObject, sameJson } from '../restore/items/same-json.ts'
import { fieldOf } from '../restore/modifiers/copy-json.ts'

/** A field that two objects do not have in common. Absent sides are undefined. */
export interface FieldChange {
  /** `spec.template.spec.containers[web].image`, `data["a.b"]` */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/**
 * The fields in which two objects differ, as deep as possible, in the order of their paths. Elements of lists are told apart by
 * their name where all have different ones, and else by their place. Pure.
 */
export function fieldChanges(before: unknown, after: unknown): FieldChange[] {
  return [...changesAt('', before, after)]
}

function* changesAt(path: string, before: unknown, after: unknown): Iterable<FieldChange> {
  if (sameJson(before, after)) return
  if (isJsonObject(before) && isJsonObject(after)) {
    yield* changesOfFields(path, before, after)
  } else if (Array.isArray(before) && Array.isArray(after)) {
    yield* changesOfLists(path, before, after)
  } else {
    yield {
      path: path === '' ? '.' : path,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    }
  }
}

function* changesOfFields(
  path: string,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Iterable<FieldChange> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  for (const name of [...names].sort(compare)) {
    yield* changesAt(below(path, name), fieldOf(before, name), fieldOf(after, name))
  }
}

function* changesOfLists(
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
): Iterable<FieldChange> {
  const old = byName(before)
  const now = byName(after)
  if (old !== undefined && now !== undefined) {
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      yield* changesAt(`${path}[${name}]`, old.get(name), now.get(name))
    }
    // The same elements in another order.
    if (sameMembers(old, now)) yield { path, before, after }
    return
  }
  for (let at = 0; at < Math.max(before.length, after.length); at++) {
    yield* changesAt(`${path}[${at}]`, before[at], after[at])
  }
}

/** Undefined unless each element has a name of its own. */
function byName(list: readonly unknown[]): Map<string, unknown> | undefined {
  const named = new Map<string, unknown>()
  for (const each of list) {
    const name = isJsonObject(each) ? fieldOf(each, 'name') : undefined
    if (typeof name !== 'string' || named.has(name)) return undefined
    named.set(name, each)
  }
  return named
}

function sameMembers(old: Map<string, unknown>, now: Map<string, unknown>): boolean {
  return (
    old.size === now.size &&
    [...old].every(([name, value]) => now.has(name) && sameJson(value, now.get(name)))
  )
}

const plain = /^[A-Za-z_][\w-]*$/

function below(path: string, name: string): string {
  if (!plain.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1
}
