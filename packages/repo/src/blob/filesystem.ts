import { randomBytes } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import path from 'node:path'
import { isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import {
  access,
  close,
  explained,
  fstat,
  lstat,
  open,
  read,
  rename,
  unlessMissing,
  unlink,
} from './filesystem/calls.ts'
import { sharedFolderSync } from './filesystem/folder-sync.ts'
import { LayoutFile } from './filesystem/layout-file.ts'
import { type Owner, ownerIn } from './filesystem/owner.ts'
import { makeRoot, RealFolders, realRoot } from './filesystem/real-folders.ts'
import { type TemporaryFileOptions, writeTemporary } from './filesystem/temporary-file.ts'
import { walkBlobFolders } from './filesystem/walk-blob-folders.ts'
import { errnoOf, type FileOperation, filesystemError } from './filesystem-error.ts'
import { blobFileSuffix, shardedName } from './shard-layout.ts'
import {
  type BlobData,
  type BlobId,
  type BlobMetadata,
  type BlobOptions,
  type BlobRetention,
  type BlobStorage,
  blobNotFound,
  type GetBlobOptions,
  isBlobId,
  type PutBlobOptions,
  rangeWithin,
  refuseRetention,
} from './storage.ts'

/** Settings of a repository in a folder. */
export interface FilesystemStorageOptions {
  readonly path: string
  /** Make the folder if it is not there. */
  readonly create?: boolean | undefined
  /** Lengths of the folders' names for a new repository; one that says its own keeps that. */
  readonly shards?: readonly number[] | undefined
  /**
   * Whether a settled `put` survives the machine's death, not only the process's: file and folder are then synced to
   * disk. On when not given. Deletions are not synced: a blob that comes back is harmless.
   */
  readonly durable?: boolean | undefined
  /** For the names of temporary files. */
  readonly randomBytes?: ((length: number) => Uint8Array) | undefined
}

/**
 * Opens a folder as Kopia lays it out. Symbolic links below the folder are not followed. A repository without the
 * file that says its layout gets one that fits the blobs that are there, or Kopia's assumption when none tells.
 * Rejects with `NOT_A_REPOSITORY` when there is no such folder, and with `CORRUPT` when its layout cannot be told.
 */
export async function openFilesystemStorage(options: FilesystemStorageOptions): Promise<BlobStorage> {
  const folder = path.resolve(options.path)
  const operation = { doing: 'open the repository folder', path: folder, writing: false }
  return explained(operation, async () => {
    if (options.create) await makeRoot(folder, options.durable ?? true)
    const root = await realRoot(folder)
    const storage = new FilesystemStorage(root, { ...options, owner: await ownerIn(root) })
    await storage.start()
    return storage
  })
}

const statedAtOnce = 64
const noFollow = constants.O_NOFOLLOW ?? 0

class FilesystemStorage implements BlobStorage {
  readonly description: string
  readonly #root: string
  readonly #writing: TemporaryFileOptions
  readonly #sync: (folder: string) => Promise<void>
  readonly #folders: RealFolders
  readonly #layout: LayoutFile

  constructor(root: string, options: FilesystemStorageOptions & { owner: Owner | undefined }) {
    const { owner } = options
    const durable = options.durable ?? true
    this.description = `folder ${root}`
    this.#root = root
    this.#writing = { durable, randomBytes: options.randomBytes ?? randomBytes, owner }
    this.#sync = durable ? sharedFolderSync() : async () => {}
    this.#folders = new RealFolders(root, this.#sync, owner)
    const { create = false, shards } = options
    this.#layout = new LayoutFile({ ...this.#writing, root, create, shards, sync: this.#sync })
  }

  start(): Promise<void> {
    return this.#layout.learn()
  }

  async get(id: BlobId, options: GetBlobOptions = {}): Promise<Uint8Array> {
    throwIfCancelled(options.signal)
    const place = this.#placeOf(id)
    return this.#on(id, { doing: `read blob ${id}`, path: place.path, writing: false }, async () => {
      await this.#folders.check(place.folders)
      const fd = await open(place.path, constants.O_RDONLY | noFollow)
      try {
        const { offset, length } = rangeWithin(id, (await fstat(fd)).size, options)
        return await readExactly(fd, offset, length)
      } finally {
        await close(fd)
      }
    })
  }

  async head(id: BlobId, { signal }: BlobOptions = {}): Promise<BlobMetadata> {
    throwIfCancelled(signal)
    const place = this.#placeOf(id)
    return this.#on(id, { doing: `look at blob ${id}`, path: place.path, writing: false }, async () => {
      await this.#folders.check(place.folders)
      return metadataOf(id, await lstat(place.path, { bigint: true }))
    })
  }

  async put(id: BlobId, data: BlobData, options: PutBlobOptions = {}): Promise<void> {
    throwIfCancelled(options.signal)
    refuseRetention(id, options.retention, this.description)
    await this.#layout.store()
    const place = this.#placeOf(id)
    const operation = { doing: `write blob ${id}`, path: place.path, writing: true, blobId: id }
    await explained(operation, async () => {
      const temporary = await this.#writeBeside(place, data)
      try {
        throwIfCancelled(options.signal)
        await rename(temporary, place.path)
      } catch (error) {
        await unlink(temporary).catch(() => {})
        throw error
      }
      await this.#sync(path.dirname(place.path))
    })
  }

  async retain(id: BlobId, retention: BlobRetention): Promise<void> {
    refuseRetention(id, retention, this.description)
  }

  async delete(id: BlobId, { signal }: BlobOptions = {}): Promise<void> {
    throwIfCancelled(signal)
    const place = this.#placeOf(id)
    try {
      await this.#on(id, { doing: `delete blob ${id}`, path: place.path, writing: true }, async () => {
        await this.#folders.check(place.folders)
        await unlink(place.path)
      })
    } catch (error) {
      if (!isRepoError(error, 'BLOB_NOT_FOUND')) throw error
    }
  }

  async *list(prefix: string, { signal }: BlobOptions = {}): AsyncGenerator<BlobMetadata> {
    await this.#requireRoot()
    for await (const { folders, files } of walkBlobFolders(this.#root, prefix, signal)) {
      const start = folders.join('')
      const wanted = files.filter(file => (start + file).startsWith(prefix))
      for (let at = 0; at < wanted.length; at += statedAtOnce) {
        throwIfCancelled(signal)
        const some = wanted.slice(at, at + statedAtOnce)
        const found = await Promise.all(some.map(file => this.#metadataOfFile(folders, file)))
        for (const blob of found) {
          // The suffix took part in the comparison above.
          if (blob?.id.startsWith(prefix)) yield blob
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Undefined for a file that is gone by now, or that is no blob. */
  async #metadataOfFile(folders: readonly string[], file: string): Promise<BlobMetadata | undefined> {
    const id = folders.join('') + file.slice(0, -blobFileSuffix.length)
    if (!isBlobId(id)) return undefined
    const place = path.join(this.#root, ...folders, file)
    const operation = { doing: `look at blob ${id}`, path: place, writing: false, blobId: id }
    const stats = await explained(operation, () => unlessMissing(lstat(place, { bigint: true })))
    return stats?.isFile() ? metadataOf(id, stats) : undefined
  }

  /** Makes the folders; a second time if they are gone although they have been seen before. */
  async #writeBeside(place: Place, data: BlobData): Promise<string> {
    await this.#makeFolders(place.folders)
    try {
      return await writeTemporary(place.path, data, this.#writing)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    this.#folders.forget()
    await this.#makeFolders(place.folders)
    return writeTemporary(place.path, data, this.#writing)
  }

  async #makeFolders(folders: readonly string[]): Promise<void> {
    if (folders.length === 0) return this.#requireRoot()
    try {
      return await this.#folders.check(folders)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    await this.#requireRoot()
    await this.#folders.make(folders)
  }

  #placeOf(id: BlobId): Place {
    const { folders, file } = shardedName(this.#layout.layout, id)
    return { folders, path: path.join(this.#root, ...folders, file) }
  }

  /** Runs an operation on one blob; a file that is not there is a blob that is not there only while the root is. */
  async #on<T>(id: BlobId, operation: FileOperation, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw filesystemError(error, { ...operation, blobId: id })
      await this.#requireRoot()
      this.#folders.forget()
      throw blobNotFound(id, this.description, error)
    }
  }

  /** An unmounted disk looks like an empty folder: no blob must seem deleted, and none be written there. */
  async #requireRoot(): Promise<void> {
    const witness = this.#layout.stored ? this.#layout.path : this.#root
    try {
      await access(witness)
    } catch (cause) {
      throw new RepoError('STORAGE_FAILED', {
        message: `The repository in ${this.#root} is no longer there: ${witness} is missing`,
        hint: 'Mount the disk again.',
        cause,
        path: witness,
        retryable: true,
      })
    }
  }
}

/** Where a blob's file is. */
interface Place {
  /** Folders below the root. */
  readonly folders: readonly string[]
  readonly path: string
}

function metadataOf(id: BlobId, stats: BigIntStats): BlobMetadata {
  return { id, length: Number(stats.size), timestamp: Number(stats.mtimeNs / 1_000_000n) }
}

async function readExactly(fd: number, offset: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await read(fd, bytes, done, length - done, offset + done)
    if (bytesRead === 0) throw new Error(`the file ended after ${offset + done} bytes while it was read`)
    done += bytesRead
  }
  return bytes
}
