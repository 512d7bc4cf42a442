import type { CollectedItem, CollectedItems, GroupResource, ItemRef } from '../../item/item.ts'
import type { SpoolPlace } from '../../scratch/spool-reader.ts'
import type { CollectedType } from './choose-types.ts'

/** An object that was found, as it goes into the table. */
export interface FoundItem extends SpoolPlace {
  /** Position among the types. */
  readonly type: number
  /** Empty for objects without one. */
  readonly namespace: string
  readonly name: string
  readonly excludedByLabel: boolean
  readonly terminating: boolean
}

type ItemName = Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>

const flag = { excludedByLabel: 1, terminating: 2, ordered: 4 } as const

/**
 * What is remembered of each object: a row of columns, some 40 bytes and its name. Rows come in any order; `arrange` says
 * which of them count and in which order.
 */
export class ItemTable {
  readonly #types: readonly CollectedType[]
  readonly #groupResources = new Ids<GroupResource>()
  readonly #groupResourceOfType: readonly number[]
  readonly #namespaces = new Ids<string>()
  readonly #names: string[] = []
  #capacity = 1024
  #type = new Uint32Array(this.#capacity)
  #namespace = new Uint32Array(this.#capacity)
  #file = new Uint8Array(this.#capacity)
  #offset = new Float64Array(this.#capacity)
  #length = new Uint32Array(this.#capacity)
  #flags = new Uint8Array(this.#capacity)
  /** Rows by position. */
  #order = new Uint32Array(0)
  /** Positions plus one by the hash of their names, as an open-addressed table. */
  #index = new Uint32Array(0)

  constructor(types: readonly CollectedType[]) {
    this.#types = types
    this.#groupResourceOfType = types.map(({ groupResource }) => this.#groupResources.idOf(groupResource))
  }

  /** Adds an object and returns its row. */
  add(item: FoundItem): number {
    const row = this.#names.length
    if (row === this.#capacity) this.#grow()
    this.#names.push(item.name)
    this.#type[row] = item.type
    this.#namespace[row] = this.#namespaces.idOf(item.namespace)
    this.#file[row] = item.file
    this.#offset[row] = item.offset
    this.#length[row] = item.length
    this.#flags[row] =
      (item.excludedByLabel ? flag.excludedByLabel : 0) | (item.terminating ? flag.terminating : 0)
    return row
  }

  /** The name of a row as ordered resources write it: `namespace/name`, or `name` alone. */
  pathOf(row: number): string {
    const namespace = this.namespaceOf(row)
    return namespace === '' ? this.nameOf(row) : `${namespace}/${this.nameOf(row)}`
  }

  nameOf(row: number): string {
    return this.#names[row] ?? ''
  }

  namespaceOf(row: number): string {
    return this.#namespaces.valueOf(this.#namespace[row] ?? 0) ?? ''
  }

  markOrdered(row: number): void {
    this.#flags[row] = (this.#flags[row] ?? 0) | flag.ordered
  }

  /** Says which rows count, in their order. A row that repeats an earlier one (same type, namespace and name) is left out. */
  arrange(rows: readonly number[]): void {
    const order = new Uint32Array(rows.length)
    this.#index = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(rows.length, 1) * 2)))
    let count = 0
    this.#order = order
    for (const row of rows) {
      order[count] = row
      if (this.#enter(row, count)) count++
    }
    this.#order = order.subarray(0, count)
  }

  get count(): number {
    return this.#order.length
  }

  /** The item at a position. Throws RangeError where there is none. */
  at(index: number): CollectedItem {
    const row = this.#order[index]
    const type = row === undefined ? undefined : this.#types[this.#type[row] ?? 0]
    if (row === undefined || type === undefined) throw new RangeError(`there is no item ${index}`)
    const flags = this.#flags[row] ?? 0
    return {
      index,
      type: type.type,
      groupResource: type.groupResource,
      namespace: this.namespaceOf(row),
      name: this.nameOf(row),
      preferred: type.preferred,
      ordered: (flags & flag.ordered) !== 0,
      excludedByLabel: (flags & flag.excludedByLabel) !== 0,
      terminating: (flags & flag.terminating) !== 0,
    }
  }

  /** Where the body of the item at a position lies. */
  placeOf(index: number): SpoolPlace {
    const row = this.#order[index] ?? 0
    return {
      file: this.#file[row] ?? 0,
      offset: this.#offset[row] ?? 0,
      length: this.#length[row] ?? 0,
    }
  }

  /** As `CollectedItems.versionsOf`. */
  versionsOf({ groupResource, namespace, name }: ItemName): CollectedItem[] {
    const group = this.#groupResources.find(groupResource)
    const place = this.#namespaces.find(namespace)
    if (group === undefined || place === undefined || this.#index.length === 0) return []
    const found: CollectedItem[] = []
    const mask = this.#index.length - 1
    for (let slot = hash(name, group, place) & mask; ; slot = (slot + 1) & mask) {
      const position = this.#index[slot] ?? 0
      if (position === 0) return found
      const row = this.#order[position - 1] ?? 0
      if (this.#isNamed(row, { group, place, name })) found.push(this.at(position - 1))
    }
  }

  *[Symbol.iterator](): Generator<CollectedItem, void, undefined> {
    for (let index = 0; index < this.#order.length; index++) yield this.at(index)
  }

  /** Puts a position into the index; false if the same object stands there already. */
  #enter(row: number, position: number): boolean {
    const type = this.#type[row] ?? 0
    const group = this.#groupResourceOfType[type] ?? 0
    const place = this.#namespace[row] ?? 0
    const name = this.nameOf(row)
    const mask = this.#index.length - 1
    let slot = hash(name, group, place) & mask
    for (let taken = this.#index[slot] ?? 0; taken !== 0; taken = this.#index[slot] ?? 0) {
      const other = this.#order[taken - 1] ?? 0
      if (this.#type[other] === type && this.#isNamed(other, { group, place, name })) return false
      slot = (slot + 1) & mask
    }
    this.#index[slot] = position + 1
    return true
  }

  #isNamed(row: number, { group, place, name }: { group: number; place: number; name: string }): boolean {
    return (
      this.#names[row] === name &&
      this.#namespace[row] === place &&
      this.#groupResourceOfType[this.#type[row] ?? 0] === group
    )
  }

  #grow(): void {
    this.#capacity *= 2
    this.#type = grown(this.#type, new Uint32Array(this.#capacity))
    this.#namespace = grown(this.#namespace, new Uint32Array(this.#capacity))
    this.#file = grown(this.#file, new Uint8Array(this.#capacity))
    this.#offset = grown(this.#offset, new Float64Array(this.#capacity))
    this.#length = grown(this.#length, new Uint32Array(this.#capacity))
    this.#flags = grown(this.#flags, new Uint8Array(this.#capacity))
  }
}

function grown<Column extends { set(values: Column): void }>(values: Column, into: Column): Column {
  into.set(values)
  return into
}

/** Numbers for values, from 0, in the order in which they came. */
class Ids<T> {
  readonly #ids = new Map<T, number>()
  readonly #values: T[] = []

  idOf(value: T): number {
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    this.#ids.set(value, this.#values.length)
    return this.#values.push(value) - 1
  }

  find(value: T): number | undefined {
    return this.#ids.get(value)
  }

  valueOf(id: number): T | undefined {
    return this.#values[id]
  }
}

/** FNV-1a over the name and the two numbers. */
function hash(name: string, group: number, namespace: number): number {
  let value = Math.imul(0x811c9dc5 ^ group, 0x01000193)
  value = Math.imul(value ^ namespace, 0x01000193)
  for (let at = 0; at < name.length; at++) value = Math.imul(value ^ name.charCodeAt(at), 0x01000193)
  return (value ^ (value >>> 15)) >>> 0
}

/** A table that is complete, as those who back its items up see it. */
export interface ArrangedItems {
  table: ItemTable
  read(place: SpoolPlace): Promise<Uint8Array>
  dispose(): Promise<void>
}

/** Gives a table the shape that the rest of a backup works with. */
export function collectedItems({ table, read, dispose }: ArrangedItems): CollectedItems {
  return {
    count: table.count,
    [Symbol.iterator]: () => table[Symbol.iterator](),
    find: item => table.versionsOf(item)[0],
    versionsOf: item => table.versionsOf(item),
    load: item => read(table.placeOf(item.index)),
    [Symbol.asyncDispose]: dispose,
  }
}
