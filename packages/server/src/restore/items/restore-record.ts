import type { GroupResource } from '../../item/item.ts'
import type { ResourceList } from '../../report/resource-list.ts'
import type { RestoreAction, RestoredItem } from './restored-item.ts'

/** An object by where it goes. Kinds keep objects apart that an action turned into others. */
export interface RecordKey {
  readonly apiVersion: string
  readonly kind: string
  readonly groupResource: GroupResource
  /** Of the cluster, not of the backup. */
  readonly namespace: string
  readonly name: string
}

/** What came of an item. */
export interface ItemResult {
  action: RestoreAction
  reason: string
  /** It is in the cluster now. */
  exists: boolean
  /** As the server calls it, where it chose the name. */
  createdName?: string | undefined
  note?: string | undefined
}

/** An item that someone has begun. */
export interface RecordEntry {
  readonly key: RecordKey
  result: ItemResult | undefined
  /** What this one waits for now. */
  waitsFor: RecordEntry | undefined
  /** Called when it is done; there is nobody to call until someone waits. */
  waiters: (() => void)[] | undefined
}

interface TypeRows {
  readonly apiVersion: string
  readonly kind: string
  readonly byNamespace: Map<string, Map<string, RecordEntry>>
}

/**
 * What became of every item of a restore. Nothing in here waits but `done`, so "has anyone begun this one? then I do" is one step for
 * all workers: an item is restored once, however many actions name it.
 */
export class RestoreRecord {
  readonly #types = new Map<string, TypeRows>()
  #count = 0
  #done = 0

  /** Items begun. */
  get count(): number {
    return this.#count
  }

  /** Items done. */
  get done(): number {
    return this.#done
  }

  /** The item's entry, and whether it is new, so that the caller restores it. */
  begin(key: RecordKey): { entry: RecordEntry; first: boolean } {
    const type = this.#typeOf(key)
    const rows = namesIn(type, key.namespace)
    const known = rows.get(key.name)
    if (known !== undefined) return { entry: known, first: false }
    const entry: RecordEntry = {
      key: shared(key, type),
      result: undefined,
      waitsFor: undefined,
      waiters: undefined,
    }
    rows.set(key.name, entry)
    this.#count += 1
    return { entry, first: true }
  }

  find({ apiVersion, kind, namespace, name }: Omit<RecordKey, 'groupResource'>): RecordEntry | undefined {
    return this.#types.get(`${apiVersion}/${kind}`)?.byNamespace.get(namespace)?.get(name)
  }

  /** Ends an item, once. */
  end(entry: RecordEntry, result: ItemResult): void {
    if (entry.result === undefined) this.#done += 1
    entry.result = result
    for (const tell of entry.waiters?.splice(0) ?? []) tell()
  }

  /**
   * Waits until an item that someone else has begun is done. Undefined at once when that one waits for `who`, however
   * indirectly: of two items that name each other, one goes first.
   */
  async waitFor(other: RecordEntry, who: RecordEntry): Promise<ItemResult | undefined> {
    if (other.result !== undefined) return other.result
    for (let each: RecordEntry | undefined = other; each !== undefined; each = each.waitsFor) {
      if (each === who) return undefined
    }
    who.waitsFor = other
    other.waiters ??= []
    const { promise, resolve } = Promise.withResolvers<void>()
    other.waiters.push(resolve)
    await promise
    who.waitsFor = undefined
    return other.result
  }

  /** All items that came to an end, by type, namespace and name. */
  *items(): Iterable<RestoredItem> {
    for (const { byNamespace } of sortedValues(this.#types)) {
      for (const rows of sortedValues(byNamespace)) {
        for (const { key, result } of sortedValues(rows))
          if (result !== undefined) yield restored(key, result)
      }
    }
  }

  /** `v1/Pod` to `shop/web(created)`. */
  resourceList(): ResourceList {
    const lists: [string, string[]][] = []
    for (const [type, { byNamespace }] of sortedEntries(this.#types)) {
      const names: string[] = []
      for (const rows of byNamespace.values()) {
        for (const { key, result } of rows.values()) if (result !== undefined) names.push(listed(key, result))
      }
      lists.push([type, names.sort(compare)])
    }
    return Object.fromEntries(lists)
  }

  #typeOf({ apiVersion, kind }: RecordKey): TypeRows {
    const name = `${apiVersion}/${kind}`
    let type = this.#types.get(name)
    if (type === undefined) {
      type = { apiVersion, kind, byNamespace: new Map() }
      this.#types.set(name, type)
    }
    return type
  }
}

function namesIn({ byNamespace }: TypeRows, namespace: string): Map<string, RecordEntry> {
  let names = byNamespace.get(namespace)
  if (names === undefined) {
    names = new Map()
    byNamespace.set(namespace, names)
  }
  return names
}

/** Parsing makes new strings for every object; all entries of a type have these in common. */
function shared(key: RecordKey, { apiVersion, kind }: TypeRows): RecordKey {
  const { groupResource, namespace, name } = key
  return { apiVersion, kind, groupResource, namespace, name }
}

function restored(key: RecordKey, { action, reason, createdName, note }: ItemResult): RestoredItem {
  const { apiVersion, kind, groupResource, namespace, name } = key
  return { apiVersion, kind, groupResource, namespace, name: createdName ?? name, action, reason, note }
}

function listed({ namespace, name }: RecordKey, { action, createdName = name }: ItemResult): string {
  return `${namespace === '' ? createdName : `${namespace}/${createdName}`}(${action})`
}

function sortedEntries<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => compare(a, b))
}

function sortedValues<V>(map: ReadonlyMap<string, V>): V[] {
  return sortedEntries(map).map(([, value]) => value)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
