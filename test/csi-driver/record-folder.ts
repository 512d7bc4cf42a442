import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** What every record has: who it is, and when it came. */
export interface DriverRecord {
  readonly id: string
  /** As its creator calls it; one name gives one record. */
  readonly name: string
  /** Grows with every record, so that lists have an order that stays. */
  readonly sequence: number
}

/**
 * Records of one kind in a folder each, with their content beside them. A record is there whole or not at all, also when the process is killed at any
 * instant: it is made and taken apart elsewhere and renamed. Against a crash of the machine nothing is done.
 */
export class RecordFolder<T extends DriverRecord> {
  readonly #folder: string
  readonly #aside: string
  readonly #records = new Map<string, T>()
  #lastSequence = 0

  private constructor(folder: string) {
    this.#folder = folder
    this.#aside = `${folder}.aside`
  }

  /** Opens a folder, which is made if it is not there, and clears what a killed process had half made or half removed. */
  static async open<T extends DriverRecord>(folder: string): Promise<RecordFolder<T>> {
    const records = new RecordFolder<T>(folder)
    await mkdir(folder, { recursive: true })
    // Copies that a killed process had under way may still be writing.
    await rm(records.#aside, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
    await mkdir(records.#aside, { recursive: true })
    for (const id of await readdir(folder)) {
      records.#know(JSON.parse(await readFile(records.#recordFile(id), 'utf8')))
    }
    return records
  }

  /** All records in the order in which they came. */
  list(): T[] {
    return [...this.#records.values()].sort((a, b) => a.sequence - b.sequence)
  }

  get(id: string): T | undefined {
    return this.#records.get(id)
  }

  named(name: string): T | undefined {
    return this.list().find(record => record.name === name)
  }

  /** Where the content of a record is. */
  contentOf(id: string): string {
    return path.join(this.#folder, id, 'content')
  }

  /** Adds a record once `fill` has made its content at the path that it is given. Nothing stays when that throws. */
  async add(fields: Omit<T, 'sequence'>, fill: (content: string) => Promise<void>): Promise<T> {
    const { id } = fields
    const aside = path.join(this.#aside, `new-${id}`)
    await mkdir(aside)
    try {
      await fill(path.join(aside, 'content'))
      this.#lastSequence += 1
      const record = { ...fields, sequence: this.#lastSequence } as T
      await writeFile(path.join(aside, 'record.json'), JSON.stringify(record, null, 2))
      await rename(aside, path.join(this.#folder, id))
      this.#know(record)
      return record
    } catch (error) {
      await rm(aside, { recursive: true, force: true })
      throw error
    }
  }

  /** Changes a record that is there. */
  async update(record: T): Promise<void> {
    const aside = path.join(this.#aside, `changed-${record.id}`)
    await writeFile(aside, JSON.stringify(record, null, 2))
    await rename(aside, this.#recordFile(record.id))
    this.#know(record)
  }

  /** Removes a record and its content; one that is not there is none to remove. */
  async remove(id: string): Promise<void> {
    if (!this.#records.has(id)) return
    const aside = path.join(this.#aside, `old-${id}`)
    await rename(path.join(this.#folder, id), aside)
    this.#records.delete(id)
    await rm(aside, { recursive: true, force: true })
  }

  #know(record: T): void {
    this.#records.set(record.id, record)
    this.#lastSequence = Math.max(this.#lastSequence, record.sequence)
  }

  #recordFile(id: string): string {
    return path.join(this.#folder, id, 'record.json')
  }
}
