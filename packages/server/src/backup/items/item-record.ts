import type { GroupResource, ItemRef } from '../../item/item.ts'
import type { ListedObject } from '../../report/resource-list.ts'

/** How far a backup has come. */
export interface ItemProgress {
  itemsBackedUp: number
  /** An estimate until the end: what was collected and brought along, less what was left out. */
  totalItems: number
}

/** An item as the record counts it. */
export interface RecordedItem {
  readonly ref: ItemRef
  readonly collected: boolean
}

const bit = { inBlock: 1, begun: 2, stored: 4, failed: 8, leftOut: 16 } as const

type NamesOfPlace = Map<string, number>

interface TypeRecord {
  readonly groupResource: GroupResource
  readonly apiVersion: string
  readonly kind: string
  readonly places: Map<string, NamesOfPlace>
  stored: boolean
}

/**
 * What became of every item of a backup. Nothing in here waits, so "has anyone begun this one? then I do" is one step
 * for all workers: an item is stored once, however many actions name it. Who finds an item begun by somebody else does not
 * wait for it: waiting for each other is how two items that name one another would stop a backup for good.
 * Versions of one object are items of their own.
 */
export class ItemRecord {
  readonly #types = new Map<string, TypeRecord>()
  readonly #typeOfRef = new Map<ItemRef['type'], TypeRecord>()
  readonly #collected: number
  #extra = 0
  #leftOut = 0
  #stored = 0
  #failed = 0

  constructor(collected: number) {
    this.#collected = collected
  }

  get progress(): ItemProgress {
    return { itemsBackedUp: this.#stored, totalItems: this.#collected + this.#extra - this.#leftOut }
  }

  /** What came of it, once all is done. */
  get result(): ItemProgress {
    return { itemsBackedUp: this.#stored, totalItems: this.#stored + this.#failed }
  }

  /** Takes the item into a block; false when one has it already. */
  claim(ref: ItemRef): boolean {
    return this.#set(ref, bit.inBlock)
  }

  /** Whether anyone has begun to store the item. */
  hasBegun(ref: ItemRef): boolean {
    return (this.#stateOf(ref) & bit.begun) !== 0
  }

  /** Begins to store the item; false when it was begun before. */
  begin({ ref, collected }: RecordedItem): boolean {
    const before = this.#stateOf(ref)
    if (!this.#set(ref, bit.begun)) return false
    if ((before & bit.leftOut) !== 0) {
      this.#clear(ref, bit.leftOut)
      this.#leftOut -= collected ? 1 : 0
      this.#extra += collected ? 0 : 1
    } else if (!collected) {
      this.#extra += 1
    }
    return true
  }

  /** The item is in the archive. */
  store(ref: ItemRef): void {
    if (!this.#set(ref, bit.stored)) return
    this.#typeRecord(ref).stored = true
    this.#stored += 1
  }

  /** The item could not be stored; it is not tried again. */
  fail(ref: ItemRef): void {
    if (this.#set(ref, bit.failed)) this.#failed += 1
  }

  /** The item does not belong to the backup, by a filter or because an action says so. */
  leaveOut({ ref, collected }: RecordedItem): void {
    const counted = collected || this.hasBegun(ref)
    if (this.#set(ref, bit.leftOut) && counted) this.#leftOut += 1
  }

  /** The types of which something was stored. */
  *storedTypes(): Iterable<GroupResource> {
    for (const { groupResource, stored } of this.#types.values()) if (stored) yield groupResource
  }

  /** What was stored. */
  *storedItems(): Iterable<ListedObject> {
    for (const { apiVersion, kind, places } of this.#types.values()) {
      for (const [namespace, names] of places) {
        for (const [name, state] of names) {
          if ((state & bit.stored) !== 0) yield { apiVersion, kind, namespace, name }
        }
      }
    }
  }

  #stateOf(ref: ItemRef): number {
    return this.#typeRecord(ref).places.get(ref.namespace)?.get(ref.name) ?? 0
  }

  #set(ref: ItemRef, flag: number): boolean {
    const names = this.#namesOf(ref)
    const state = names.get(ref.name) ?? 0
    if ((state & flag) !== 0) return false
    names.set(ref.name, state | flag)
    return true
  }

  #clear(ref: ItemRef, flag: number): void {
    this.#namesOf(ref).set(ref.name, this.#stateOf(ref) & ~flag)
  }

  #namesOf(ref: ItemRef): NamesOfPlace {
    const { places } = this.#typeRecord(ref)
    let names = places.get(ref.namespace)
    if (names === undefined) {
      names = new Map()
      places.set(ref.namespace, names)
    }
    return names
  }

  #typeRecord({ type, groupResource }: ItemRef): TypeRecord {
    let record = this.#typeOfRef.get(type)
    if (record !== undefined) return record
    const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
    const key = `${apiVersion}/${type.plural}`
    record = this.#types.get(key) ?? {
      groupResource,
      apiVersion,
      kind: type.kind,
      places: new Map(),
      stored: false,
    }
    this.#types.set(key, record)
    this.#typeOfRef.set(type, record)
    return record
  }
}
