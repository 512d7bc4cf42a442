import type { KubeObject } from '../object.ts'
import { keyOf } from './object-key.ts'

/** The values under which an object is found in an index. */
export type IndexValues<T> = (object: T) => readonly string[]

interface Index<T> {
  valuesOf: IndexValues<T>
  keysByValue: Map<string, Set<string>>
}

/** Objects by key, and by whatever indexes were defined. The objects are shared: readers must not change them. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  keys(): Iterable<string> {
    return this.#objects.keys()
  }

  values(): Iterable<T> {
    return this.#objects.values()
  }

  /** Defines an index, or replaces one of the same name, over what is cached and what will be. */
  addIndex(name: string, valuesOf: IndexValues<T>): void {
    const index: Index<T> = { valuesOf, keysByValue: new Map() }
    this.#indexes.set(name, index)
    for (const [key, object] of this.#objects) enter(index, key, object)
  }

  /** Throws a RangeError for an index that was never defined. */
  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name)
    if (index === undefined)
      throw new RangeError(`No index is named ${name}; define it before the informer runs`)
    const keys = index.keysByValue.get(value) ?? []
    return [...keys].flatMap(key => this.#objects.get(key) ?? [])
  }

  put(object: T): void {
    const key = keyOf(object)
    const previous = this.#objects.get(key)
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) leave(index, key, previous)
      enter(index, key, object)
    }
  }

  delete(key: string): void {
    const object = this.#objects.get(key)
    if (object === undefined) return
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) leave(index, key, object)
  }
}

function enter<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.valuesOf(object)) {
    const keys = index.keysByValue.get(value)
    if (keys === undefined) index.keysByValue.set(value, new Set([key]))
    else keys.add(key)
  }
}

function leave<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.valuesOf(object)) {
    const keys = index.keysByValue.get(value)
    keys?.delete(key)
    if (keys?.size === 0) index.keysByValue.delete(value)
  }
}
