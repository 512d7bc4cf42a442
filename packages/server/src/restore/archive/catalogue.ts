import type { GroupResource } from '../../item/item.ts'
import { ArchiveError, quoted } from './archive-error.ts'
import type { ArchivedItem, ArchivedType } from './backup-archive.ts'
import type { ItemPath } from './entry-path.ts'

/** Where the body of an object lies. */
export interface BodyPlace {
  readonly offset: number
  readonly length: number
}

type ItemName = Pick<ArchivedItem, 'groupResource' | 'namespace' | 'name'>

/** Rows of one type in one version: from the first to before the last. */
interface Range {
  from: number
  to: number
}

/**
 * What is remembered of each object of an archive: a row of columns, some 40 bytes and its name. Rows come in any order; `arrange`
 * sorts them. An object that is stored twice with the same body, with and without its version, is one row.
 */
export class Catalogue {
  readonly #types = new Ids()
  readonly #namespaces = new Ids()
  readonly #versions = new Ids()
  readonly #preferred = new Map<number, Set<string>>()
  readonly #stored = new Map<number, Set<string>>()
  readonly #names: string[] = []
  #capacity = 1024
  #type = new Uint32Array(this.#capacity)
  #namespace = new Uint32Array(this.#capacity)
  #version = new Uint32Array(this.#capacity)
  /** The version of which a copy with the same body was left out; that of no version is 0. */
  #copy = new Uint32Array(this.#capacity)
  #offset = new Float64Array(this.#capacity)
  #length = new Float64Array(this.#capacity)
  /** Rows by position. */
  #order = new Uint32Array(0)
  /** By type and version. */
  #ranges = new Map<string, Range>()
  #nameLength = 0

  constructor() {
    this.#versions.idOf('')
  }

  /** Characters of all names in memory. */
  get nameLength(): number {
    return this.#nameLength + this.#types.length + this.#namespaces.length + this.#versions.length
  }

  add(path: ItemPath, { offset, length }: BodyPlace): void {
    const row = this.#names.length
    if (row === this.#capacity) this.#grow()
    const type = this.#types.idOf(path.groupResource)
    this.#names.push(detached(path.name))
    this.#nameLength += path.name.length
    this.#type[row] = type
    this.#namespace[row] = this.#namespaces.idOf(path.namespace)
    this.#version[row] = this.#versions.idOf(path.version)
    this.#offset[row] = offset
    this.#length[row] = length
    this.#noteVersion(type, path)
  }

  /**
   * Notes that the object added last is also stored under this path with the same body, which makes one row of both. False if it is not
   * that object, or has a copy already.
   */
  addCopy(path: ItemPath): boolean {
    const row = this.#names.length - 1
    const type = this.#types.idOf(path.groupResource)
    const isSame =
      row >= 0 &&
      path.version !== '' &&
      this.#version[row] === 0 &&
      this.#copy[row] === 0 &&
      this.#type[row] === type &&
      this.#names[row] === path.name &&
      this.#namespaces.valueOf(this.#namespace[row] ?? 0) === path.namespace
    if (!isSame) return false
    this.#copy[row] = this.#versions.idOf(path.version)
    this.#noteVersion(type, path)
    return true
  }

  /** Sorts what was added. Throws ArchiveError (`ARCHIVE_DUPLICATE`) if an object was added twice in one version. */
  arrange(): void {
    const types = this.#types.ranks()
    const namespaces = this.#namespaces.ranks()
    const versions = this.#versions.ranks()
    const compare = (a: number, b: number): number =>
      rank(types, this.#type, a) - rank(types, this.#type, b) ||
      rank(versions, this.#version, a) - rank(versions, this.#version, b) ||
      rank(namespaces, this.#namespace, a) - rank(namespaces, this.#namespace, b) ||
      compareFileNames(this.#nameOf(a), this.#nameOf(b))
    this.#order = Uint32Array.from(this.#names.keys()).sort(compare)
    for (let index = 1; index < this.#order.length; index++) {
      const row = this.#order[index] ?? 0
      if (compare(this.#order[index - 1] ?? 0, row) === 0) throw duplicate(this.at(index))
    }
    this.#findRanges()
    this.#checkCopies()
  }

  /** The types with objects, sorted. */
  types(): ArchivedType[] {
    return this.#types
      .sorted()
      .map(name => this.#typeOf(name as GroupResource))
      .filter(({ count, versions }) => count > 0 || versions.length > 0)
  }

  /** The namespaces with objects, sorted. */
  namespaces(): string[] {
    return this.#namespaces.sorted().filter(name => name !== '')
  }

  /** As `BackupArchive.items`. */
  *items(type: GroupResource, version = ''): Generator<ArchivedItem, void, undefined> {
    const plain = this.#rangeOf(type, '')
    const asked = version === '' ? { from: 0, to: 0 } : this.#rangeOf(type, version)
    let at = asked.from
    for (let index = plain.from; index < plain.to; index++) {
      while (at < asked.to && this.#comparePlaces(at, index) < 0) at++
      const hasOwn = at < asked.to && this.#comparePlaces(at, index) === 0
      yield hasOwn ? this.at(at) : this.#plainAt(index, version)
    }
  }

  /** As `BackupArchive.find`. */
  find({ groupResource, namespace, name }: ItemName): ArchivedItem | undefined {
    const index = this.#search(this.#rangeOf(groupResource, ''), namespace, name)
    return index === undefined ? undefined : this.at(index)
  }

  /** Where the body of the item at a position lies. */
  placeOf({ index }: Pick<ArchivedItem, 'index'>): BodyPlace {
    const row = this.#order[index] ?? 0
    return { offset: this.#offset[row] ?? 0, length: this.#length[row] ?? 0 }
  }

  at(index: number): ArchivedItem {
    const row = this.#order[index] ?? 0
    return {
      groupResource: this.#types.valueOf(this.#type[row] ?? 0) as GroupResource,
      namespace: this.#namespaces.valueOf(this.#namespace[row] ?? 0),
      name: this.#nameOf(row),
      version: this.#versions.valueOf(this.#version[row] ?? 0),
      index,
    }
  }

  /** An item without a version, which has one if its copy of that version has the same body. */
  #plainAt(index: number, version: string): ArchivedItem {
    const copy = this.#versions.valueOf(this.#copy[this.#order[index] ?? 0] ?? 0)
    const item = this.at(index)
    return copy === version ? { ...item, version } : item
  }

  #typeOf(groupResource: GroupResource): ArchivedType {
    const id = this.#types.idOf(groupResource)
    const { from, to } = this.#rangeOf(groupResource, '')
    const preferred = this.#preferred.get(id)
    const versions = [...(this.#stored.get(id) ?? [])].sort()
    return {
      groupResource,
      count: to - from,
      versions: versions.map(version => ({ version, preferred: preferred?.has(version) ?? false })),
    }
  }

  #noteVersion(type: number, { version, preferred }: ItemPath): void {
    if (version === '') return
    noteIn(this.#stored, type, version)
    if (preferred) noteIn(this.#preferred, type, version)
  }

  #nameOf(row: number): string {
    return this.#names[row] ?? ''
  }

  #comparePlaces(a: number, b: number): number {
    const left = this.at(a)
    const right = this.at(b)
    return compareText(left.namespace, right.namespace) || compareFileNames(left.name, right.name)
  }

  #search({ from, to }: Range, namespace: string, name: string): number | undefined {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >>> 1
      const item = this.at(middle)
      const side = compareText(item.namespace, namespace) || compareFileNames(item.name, name)
      if (side === 0) return middle
      if (side < 0) low = middle + 1
      else high = middle
    }
    return undefined
  }

  #rangeOf(type: GroupResource, version: string): Range {
    return this.#ranges.get(rangeKey(type, version)) ?? { from: 0, to: 0 }
  }

  #findRanges(): void {
    let last = ''
    for (let index = 0; index < this.#order.length; index++) {
      const { groupResource, version } = this.at(index)
      const key = rangeKey(groupResource, version)
      if (key !== last) this.#ranges.set(key, { from: index, to: index })
      last = key
      const range = this.#ranges.get(key)
      if (range !== undefined) range.to = index + 1
    }
  }

  /** A copy that was left out must not have a row of its own as well. */
  #checkCopies(): void {
    for (const [index, row] of this.#order.entries()) {
      const copy = this.#copy[row] ?? 0
      if (copy === 0) continue
      const { groupResource, namespace, name } = this.at(index)
      const version = this.#versions.valueOf(copy)
      const twin = this.#search(this.#rangeOf(groupResource, version), namespace, name)
      if (twin !== undefined) throw duplicate(this.at(twin))
    }
  }

  #grow(): void {
    this.#capacity *= 2
    this.#type = grown(this.#type, new Uint32Array(this.#capacity))
    this.#namespace = grown(this.#namespace, new Uint32Array(this.#capacity))
    this.#version = grown(this.#version, new Uint32Array(this.#capacity))
    this.#copy = grown(this.#copy, new Uint32Array(this.#capacity))
    this.#offset = grown(this.#offset, new Float64Array(this.#capacity))
    this.#length = grown(this.#length, new Float64Array(this.#capacity))
  }
}

function duplicate({ groupResource, namespace, name, version }: ArchivedItem): ArchiveError {
  const what = [groupResource, version, namespace, name].filter(part => part !== '').join('/')
  return new ArchiveError('ARCHIVE_DUPLICATE', `it contains ${quoted(what)} twice`)
}

/** A copy: part of a text keeps all of the text in memory, and hostile paths are long. */
function detached(text: string): string {
  return Buffer.from(text).toString()
}

function rangeKey(type: string, version: string): string {
  return `${version}/${type}`
}

function rank(ranks: Uint32Array, column: Uint32Array, row: number): number {
  return ranks[column[row] ?? 0] ?? 0
}

function noteIn(sets: Map<number, Set<string>>, key: number, value: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}

function grown<Column extends { set(values: Column): void }>(values: Column, into: Column): Column {
  into.set(values)
  return into
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const extension = '.json'

/** As the files are sorted in which the objects are kept: `a-b.json` comes before `a.json`. */
export function compareFileNames(a: string, b: string): number {
  if (a === b) return 0
  if (b.startsWith(a)) return compareText(extension, b.slice(a.length) + extension)
  if (a.startsWith(b)) return compareText(a.slice(b.length) + extension, extension)
  return compareText(a, b)
}

/** Numbers for texts, from 0, in the order in which they came. */
class Ids {
  readonly #ids = new Map<string, number>()
  readonly #values: string[] = []
  #length = 0

  /** Characters of all texts. */
  get length(): number {
    return this.#length
  }

  idOf(value: string): number {
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    const own = detached(value)
    this.#length += own.length
    this.#ids.set(own, this.#values.length)
    return this.#values.push(own) - 1
  }

  valueOf(id: number): string {
    return this.#values[id] ?? ''
  }

  sorted(): string[] {
    return this.#values.toSorted(compareText)
  }

  /** For each number, the position of its text among all, sorted. */
  ranks(): Uint32Array {
    const ranks = new Uint32Array(this.#values.length)
    for (const [position, value] of this.sorted().entries()) ranks[this.idOf(value)] = position
    return ranks
  }
}
