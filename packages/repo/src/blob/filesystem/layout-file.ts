import path from 'node:path'
import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import {
  layoutInUse,
  layoutOf,
  newRepositoryShards,
  parseShardLayout,
  type ShardedName,
  type ShardLayout,
  serializeShardLayout,
  shardsFileName,
  shardsWithoutFile,
} from '../shard-layout.ts'
import { explained, readFile, unlessMissing, unlink } from './calls.ts'
import { linkOrRename, type TemporaryFileOptions, writeTemporary } from './temporary-file.ts'
import { walkBlobFolders } from './walk-blob-folders.ts'

/** How the layout of a folder is learned and written. */
export interface LayoutFileOptions extends TemporaryFileOptions {
  readonly root: string
  /** Write the file now, not with the first blob. */
  readonly create: boolean
  /** For a new repository. */
  readonly shards: readonly number[] | undefined
  readonly sync: (folder: string) => Promise<void>
}

/** The file that says in which folders blobs are. */
export class LayoutFile {
  readonly path: string
  readonly #options: LayoutFileOptions
  #layout: ShardLayout
  #stored: boolean
  #storing: Promise<void> | undefined

  constructor(options: LayoutFileOptions) {
    this.path = path.join(options.root, shardsFileName)
    this.#options = options
    this.#layout = layoutOf(options.shards ?? newRepositoryShards)
    this.#stored = false
  }

  get layout(): ShardLayout {
    return this.#layout
  }

  /** Whether the file is known to be there. */
  get stored(): boolean {
    return this.#stored
  }

  /**
   * Learns the layout, from the blobs where there is no file. An empty folder gets its file with the first blob, or now if it
   * is to be created. Throws `CORRUPT` when the layout cannot be told.
   */
  async learn(): Promise<void> {
    if (await this.#read()) return
    const { create } = this.#options
    const sample = await this.#sampleOfBlobs()
    if (sample.length > 0) this.#layout = this.#layoutOfExisting(sample)
    if (!create && sample.length === 0) return
    try {
      await this.store()
    } catch (error) {
      const readingSuffices = !create && isRepoError(error, 'READ_ONLY')
      if (!readingSuffices) throw error
    }
  }

  /** Writes the file if there is none. Who comes second takes over what the first one wrote. */
  async store(): Promise<void> {
    if (this.#stored) return
    const operation = { doing: "write the repository's layout", path: this.path, writing: true }
    this.#storing ??= explained(operation, () => this.#storeNow()).finally(() => {
      this.#storing = undefined
    })
    await this.#storing
  }

  async #storeNow(): Promise<void> {
    const text = Buffer.from(serializeShardLayout(this.#layout))
    const temporary = await writeTemporary(this.path, text, this.#options)
    try {
      await linkOrRename(temporary, this.path)
    } finally {
      await unlessMissing(unlink(temporary))
    }
    await this.#options.sync(this.#options.root)
    await this.#read()
  }

  async #read(): Promise<boolean> {
    const operation = { doing: "read the repository's layout", path: this.path, writing: false }
    const text = await explained(operation, () => unlessMissing(readFile(this.path, 'utf8')))
    if (text === undefined) return false
    this.#layout = parseShardLayout(text, this.path)
    this.#stored = true
    return true
  }

  #layoutOfExisting(sample: readonly ShardedName[]): ShardLayout {
    const layout = layoutInUse(sample)
    if (layout !== 'mixed') return layout ?? layoutOf(this.#options.shards ?? shardsWithoutFile)
    throw new RepoError('CORRUPT', {
      message: `The file ${this.path}, which says where blobs are, is missing, and the blobs follow no single layout`,
      hint: 'Restore the file from a copy of the repository; moving blobs into the root of a flat one works too.',
      path: this.path,
    })
  }

  async #sampleOfBlobs(): Promise<ShardedName[]> {
    const sample: ShardedName[] = []
    for await (const { folders, files } of walkBlobFolders(this.#options.root, '')) {
      sample.push(...files.slice(0, 100).map(file => ({ folders, file })))
      if (sample.length >= 1000) break
    }
    return sample
  }
}
