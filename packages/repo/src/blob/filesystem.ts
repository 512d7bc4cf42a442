import { randomBytes } from 'node:crypto'
import fs, { type BigIntStats, constants } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { errnoOf, type FileOperation, filesystemError } from './filesystem-error.ts'
import {
  blobFileSuffix,
  layoutInUse,
  layoutOf,
  newRepositoryShards,
  parseShardLayout,
  type ShardedName,
  type ShardLayout,
  serializeShardLayout,
  shardedName,
  shardsFileName,
  shardsWithoutFile,
} from './shard-layout.ts'
import {
  type BlobData,
  type BlobId,
  type BlobMetadata,
  type BlobOptions,
  type BlobStorage,
  blobNotFound,
  type GetBlobOptions,
  isBlobId,
  type PutBlobOptions,
  rangeWithin,
  refuseRetention,
} from './storage.ts'

// File descriptors rather than FileHandle: a content is a range of a blob, and handles cost more than the read.
const [open, close, fsync] = [promisify(fs.open), promisify(fs.close), promisify(fs.fsync)]
const [fstat, lstat, read] = [promisify(fs.fstat), promisify(fs.lstat), promisify(fs.read)]
const [writev, rename, unlink] = [promisify(fs.writev), promisify(fs.rename), promisify(fs.unlink)]
const [mkdir, readdir, readFile] = [promisify(fs.mkdir), promisify(fs.readdir), promisify(fs.readFile)]
const [link, realpath, access] = [promisify(fs.link), promisify(fs.realpath), promisify(fs.access)]

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
    const storage = new FilesystemStorage(await realFolder(folder), options)
    await storage.start()
    return storage
  })
}

const fileMode = 0o600
const folderMode = 0o700
const listedAtOnce = 16
const statedAtOnce = 64
const noFollow = constants.O_NOFOLLOW ?? 0

class FilesystemStorage implements BlobStorage {
  readonly description: string
  readonly #root: string
  readonly #options: FilesystemStorageOptions
  readonly #random: (length: number) => Uint8Array
  readonly #sync: (folder: string) => Promise<void>
  /** Folders seen to be real ones. */
  readonly #folders = new Set<string>()
  #layout: ShardLayout
  #layoutStored: boolean
  #storingLayout: Promise<void> | undefined

  constructor(root: string, options: FilesystemStorageOptions) {
    this.description = `folder ${root}`
    this.#root = root
    this.#options = options
    this.#random = options.randomBytes ?? randomBytes
    this.#sync = (options.durable ?? true) ? sharedFolderSync() : async () => {}
    this.#layout = layoutOf(options.shards ?? newRepositoryShards)
    this.#layoutStored = false
  }

  /** Learns the layout. An empty folder gets its layout file with the first blob, or now if it is to be created. */
  async start(): Promise<void> {
    if (await this.#readLayout()) return
    const sample = await this.#sampleOfBlobs()
    if (sample.length > 0) this.#layout = this.#layoutOfExisting(sample)
    if (!this.#options.create && sample.length === 0) return
    try {
      await this.#storeLayout()
    } catch (error) {
      const readingSuffices = !this.#options.create && isRepoError(error, 'READ_ONLY')
      if (!readingSuffices) throw error
    }
  }

  #layoutOfExisting(sample: readonly ShardedName[]): ShardLayout {
    const layout = layoutInUse(sample)
    if (layout !== 'mixed') return layout ?? layoutOf(this.#options.shards ?? shardsWithoutFile)
    const file = path.join(this.#root, shardsFileName)
    throw new RepoError('CORRUPT', {
      message: `The file ${file}, which says where blobs are, is missing, and the blobs follow no single layout`,
      hint: 'Restore the file from a copy of the repository; moving blobs into the root of a flat one works too.',
      path: file,
    })
  }

  async get(id: BlobId, options: GetBlobOptions = {}): Promise<Uint8Array> {
    throwIfCancelled(options.signal)
    const place = this.#placeOf(id)
    return this.#on(id, { doing: `read blob ${id}`, path: place.path, writing: false }, async () => {
      await this.#checkFolders(place.folders)
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
      await this.#checkFolders(place.folders)
      return metadataOf(id, await lstat(place.path, { bigint: true }))
    })
  }

  async put(id: BlobId, data: BlobData, options: PutBlobOptions = {}): Promise<void> {
    throwIfCancelled(options.signal)
    refuseRetention(id, options, this.description)
    await this.#storeLayout()
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

  /** Makes the folders; a second time if they are gone although they have been seen before. */
  async #writeBeside(place: Place, data: BlobData): Promise<string> {
    await this.#makeFolders(place.folders)
    try {
      return await this.#writeTemporary(place.path, data)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    this.#folders.clear()
    await this.#makeFolders(place.folders)
    return this.#writeTemporary(place.path, data)
  }

  async delete(id: BlobId, { signal }: BlobOptions = {}): Promise<void> {
    throwIfCancelled(signal)
    const place = this.#placeOf(id)
    try {
      await this.#on(id, { doing: `delete blob ${id}`, path: place.path, writing: true }, async () => {
        await this.#checkFolders(place.folders)
        await unlink(place.path)
      })
    } catch (error) {
      if (!isRepoError(error, 'BLOB_NOT_FOUND')) throw error
    }
  }

  async *list(prefix: string, { signal }: BlobOptions = {}): AsyncGenerator<BlobMetadata> {
    for await (const { folders, files } of this.#walk(prefix, signal)) {
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

  /** Undefined for a file that is gone by now, or that is no blob. */
  async #metadataOfFile(folders: readonly string[], file: string): Promise<BlobMetadata | undefined> {
    const id = folders.join('') + file.slice(0, -blobFileSuffix.length)
    if (!isBlobId(id)) return undefined
    const place = path.join(this.#root, ...folders, file)
    const operation = { doing: `look at blob ${id}`, path: place, writing: false, blobId: id }
    const stats = await explained(operation, () => unlessMissing(lstat(place, { bigint: true })))
    return stats?.isFile() ? metadataOf(id, stats) : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #placeOf(id: BlobId): Place {
    const { folders, file } = shardedName(this.#layout, id)
    return { folders, path: path.join(this.#root, ...folders, file) }
  }

  /** Runs an operation on one blob; a file that is not there is a blob that is not there only while the root is. */
  async #on<T>(id: BlobId, operation: FileOperation, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw filesystemError(error, { ...operation, blobId: id })
      await this.#requireRoot()
      this.#folders.clear()
      throw blobNotFound(id, this.description, error)
    }
  }

  /** An unmounted disk looks like an empty folder: no blob must seem deleted, and none be written there. */
  async #requireRoot(): Promise<void> {
    const witness = this.#layoutStored ? path.join(this.#root, shardsFileName) : this.#root
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

  async #checkFolders(folders: readonly string[]): Promise<void> {
    const innermost = path.join(this.#root, ...folders)
    if (this.#folders.has(innermost)) return
    for (let depth = 1; depth <= folders.length; depth++) {
      await requireRealFolder(path.join(this.#root, ...folders.slice(0, depth)))
    }
    this.#folders.add(innermost)
  }

  async #makeFolders(folders: readonly string[]): Promise<void> {
    if (folders.length === 0) return this.#requireRoot()
    try {
      return await this.#checkFolders(folders)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    await this.#requireRoot()
    for (let depth = 1; depth <= folders.length; depth++) {
      const folder = path.join(this.#root, ...folders.slice(0, depth))
      const made = await mkdir(folder, folderMode).then(
        () => true,
        error => {
          if (errnoOf(error) === 'EEXIST') return false
          throw error
        },
      )
      if (made) await this.#sync(path.dirname(folder))
    }
    await this.#checkFolders(folders)
  }

  /** Writes beside the target and syncs; leaves nothing behind when it fails. */
  async #writeTemporary(target: string, data: BlobData): Promise<string> {
    const temporary = `${target}.tmp.${Buffer.from(this.#random(8)).toString('hex')}`
    const fd = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, fileMode)
    try {
      try {
        await writeAll(fd, data)
        if (this.#options.durable ?? true) await fsync(fd)
      } finally {
        await close(fd)
      }
    } catch (error) {
      await unlink(temporary).catch(() => {})
      throw error
    }
    return temporary
  }

  async #readLayout(): Promise<boolean> {
    const file = path.join(this.#root, shardsFileName)
    const operation = { doing: "read the repository's layout", path: file, writing: false }
    const text = await explained(operation, () => unlessMissing(readFile(file, 'utf8')))
    if (text === undefined) return false
    this.#layout = parseShardLayout(text, file)
    this.#layoutStored = true
    return true
  }

  /** Writes the layout file if there is none. Who comes second takes over what the first one wrote. */
  async #storeLayout(): Promise<void> {
    if (this.#layoutStored) return
    const file = path.join(this.#root, shardsFileName)
    this.#storingLayout ??= explained(
      { doing: "write the repository's layout", path: file, writing: true },
      async () => {
        const temporary = await this.#writeTemporary(file, Buffer.from(serializeShardLayout(this.#layout)))
        try {
          await linkOrRename(temporary, file)
        } finally {
          await unlessMissing(unlink(temporary))
        }
        await this.#sync(this.#root)
        await this.#readLayout()
      },
    ).finally(() => {
      this.#storingLayout = undefined
    })
    await this.#storingLayout
  }

  async #sampleOfBlobs(): Promise<ShardedName[]> {
    const sample: ShardedName[] = []
    for await (const { folders, files } of this.#walk('')) {
      sample.push(...files.slice(0, 100).map(file => ({ folders, file })))
      if (sample.length >= 1000) break
    }
    return sample
  }

  /** The folders that can hold ids with this prefix, with the names of their blobs' files; several are read at once. */
  async *#walk(prefix: string, signal?: AbortSignal): AsyncGenerator<FolderOfBlobs> {
    await this.#requireRoot()
    const ahead: (readonly string[])[] = [[]]
    while (ahead.length > 0) {
      throwIfCancelled(signal)
      const some = ahead.splice(-listedAtOnce)
      for (const read of await Promise.all(some.map(folders => this.#readFolder(folders, prefix)))) {
        ahead.push(...read.inner)
        yield read
      }
    }
  }

  async #readFolder(folders: readonly string[], prefix: string): Promise<FolderOfBlobs> {
    const folder = path.join(this.#root, ...folders)
    const operation = { doing: 'list the folder', path: folder, writing: false }
    const entries = await explained(operation, () => unlessMissing(readdir(folder, { withFileTypes: true })))
    const files: string[] = []
    const inner: string[][] = []
    for (const entry of entries ?? []) {
      const within = [...folders, entry.name]
      if (entry.isFile() && entry.name.endsWith(blobFileSuffix)) files.push(entry.name)
      if (entry.isDirectory() && compatible(within.join(''), prefix)) inner.push(within)
    }
    return { folders, files, inner }
  }
}

/** Where a blob's file is. */
interface Place {
  /** Folders below the root. */
  readonly folders: readonly string[]
  readonly path: string
}

interface FolderOfBlobs {
  readonly folders: readonly string[]
  readonly files: readonly string[]
  readonly inner: readonly string[][]
}

function compatible(folderId: string, prefix: string): boolean {
  return folderId.length < prefix.length ? prefix.startsWith(folderId) : folderId.startsWith(prefix)
}

function metadataOf(id: BlobId, stats: BigIntStats): BlobMetadata {
  return { id, length: Number(stats.size), timestamp: Number(stats.mtimeNs / 1_000_000n) }
}

async function explained<T>(operation: FileOperation, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw filesystemError(error, operation)
  }
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function makeRoot(folder: string, durable: boolean): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: folderMode })
  if (first !== undefined && durable) await syncFolder(path.dirname(first))
}

async function realFolder(folder: string): Promise<string> {
  const real = await unlessMissing(realpath(folder))
  if (real !== undefined && (await lstat(real)).isDirectory()) return real
  throw new RepoError('NOT_A_REPOSITORY', {
    message: `There is no repository in ${folder}: ${real === undefined ? 'the folder does not exist' : 'it is no folder'}`,
    hint: 'Check the path and whether the disk is mounted, or create the repository first.',
    path: folder,
  })
}

async function requireRealFolder(folder: string): Promise<void> {
  const stats = await lstat(folder)
  if (stats.isDirectory()) return
  const code = stats.isSymbolicLink() ? 'ELOOP' : 'ENOTDIR'
  throw Object.assign(new Error(`${code}: ${folder} is not a folder`), { code })
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

async function writeAll(fd: number, data: BlobData): Promise<void> {
  let rest = (data instanceof Uint8Array ? [data] : data).filter(piece => piece.length > 0)
  while (rest.length > 0) {
    const { bytesWritten } = await writev(fd, rest)
    rest = withoutFirst(rest, bytesWritten)
  }
}

function withoutFirst(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes
  const rest: Uint8Array[] = []
  for (const piece of pieces) {
    if (skip < piece.length) rest.push(piece.subarray(skip))
    skip = Math.max(0, skip - piece.length)
  }
  return rest
}

/** Gives a file its name unless there is one of that name; where there are no hard links, replaces it. */
async function linkOrRename(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'EEXIST') return
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error
    await rename(temporary, file)
  }
}

/** Syncs folders; those who ask while one is being synced share the next sync, which begins after they asked. */
function sharedFolderSync(): (folder: string) => Promise<void> {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  function sync(folder: string): Promise<void> {
    const shared = waiting.get(folder)
    if (shared !== undefined) return shared
    const current = running.get(folder)
    if (current === undefined) {
      const started = syncFolder(folder).finally(() => running.delete(folder))
      running.set(folder, started)
      return started
    }
    const again = () => {
      waiting.delete(folder)
      return sync(folder)
    }
    const next = current.then(again, again)
    waiting.set(folder, next)
    return next
  }
  return sync
}

async function syncFolder(folder: string): Promise<void> {
  const fd = await open(folder, constants.O_RDONLY)
  try {
    await fsync(fd)
  } catch (error) {
    // Some network file systems cannot sync folders; there is nothing more to be had from them.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(errnoOf(error) ?? '')) throw error
  } finally {
    await close(fd)
  }
}
