import path from 'node:path'
import { Spool } from '../../scratch/spool.ts'
import { SpoolReader } from '../../scratch/spool-reader.ts'
import type { ArchiveWriter } from '../archive/archive.ts'

/** A file of an archive. */
export interface ArchiveEntry {
  path: string
  content: Uint8Array
}

const versionPath = 'metadata/version'

/** Files that are to take the place of others in an archive, kept in scratch. */
export class ChangedFiles implements AsyncDisposable, Pick<ArchiveWriter, 'add'> {
  readonly #spool: Spool
  readonly #places = new Map<string, { offset: number; length: number }>()

  private constructor(spool: Spool) {
    this.#spool = spool
  }

  /** `scratch` is a folder that exists. Throws ScratchError. */
  static async create(scratch: string): Promise<ChangedFiles> {
    return new ChangedFiles(await Spool.create(path.join(scratch, 'changed-files')))
  }

  get size(): number {
    return this.#places.size
  }

  /** Throws ScratchError. */
  async add(file: string, content: Uint8Array): Promise<void> {
    this.#places.set(file, { offset: this.#spool.append(content), length: content.length })
    await this.#spool.ready()
  }

  /** The files below a folder, whose name ends with a slash. Nothing may be added meanwhile. Throws ScratchError. */
  async within(folder: string): Promise<Uint8Array[]> {
    await this.#spool.flush()
    const reader = new SpoolReader([this.#spool])
    const places = [...this.#places].filter(([file]) => file.startsWith(folder))
    return await Promise.all(places.map(([, place]) => reader.read({ file: 0, ...place })))
  }

  /**
   * Copies an archive, with these files in the places of those of the same path and the others at the end. Nothing may be added while
   * it goes on. Throws ScratchError and what the entries throw.
   */
  async merge(entries: AsyncIterable<ArchiveEntry>, archive: Pick<ArchiveWriter, 'add'>): Promise<void> {
    await this.#spool.flush()
    const reader = new SpoolReader([this.#spool])
    const left = new Map(this.#places)
    for await (const entry of entries) {
      // Every archive begins with its own.
      if (entry.path === versionPath) continue
      const place = left.get(entry.path)
      left.delete(entry.path)
      if (place !== undefined) await archive.add(entry.path, await reader.read({ file: 0, ...place }))
      // An entry that stood there twice stands there once now.
      else if (!this.#places.has(entry.path)) await archive.add(entry.path, entry.content)
    }
    for (const [file, place] of left) await archive.add(file, await reader.read({ file: 0, ...place }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spool[Symbol.asyncDispose]()
  }
}
