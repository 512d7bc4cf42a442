import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import {
  access,
  type FileHandle,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { type Clock, type Fence, FencedError, noFence } from '@lateen/kube'
import {
  type BucketOptions,
  type InitOptions,
  type KeyOptions,
  type ListOptions,
  type ListPrefixesOptions,
  type ObjectStore,
  ObjectStoreError,
  type PutOptions,
  type SignedUrlOptions,
} from '@lateen/plugin'
import { readBody } from './body.ts'
import { type FilesystemConfig, parseFilesystemConfig, refuseSystemFolder } from './filesystem-config.ts'
import { errnoOf, filesystemError } from './filesystem-errors.ts'
import {
  findPath,
  INCOMING,
  lookAt,
  makePath,
  pruneFolders,
  safeSegments,
  syncFolder,
  unsafe,
  unsafeLink,
} from './filesystem-folders.ts'
import { type WalkOptions, walkFolders, walkKeys } from './filesystem-list.ts'
import type { DownloadObject, SignedDownloads } from './signed-downloads.ts'

export interface FilesystemStoreOptions {
  clock: Clock
  /** A name that no other put will use, in characters that suit a file name. */
  randomName: () => string
  /** Serves the links that this store signs. */
  downloads: SignedDownloads
  /** Whether folders of the system will do, too: for a user who names a folder of their own machine. */
  anyFolder?: boolean
  /** Asked before an object takes its place. Default: none. */
  fence?: Fence
}

/** An unfinished put is taken for dead after this long without a byte. */
const INCOMING_LIFETIME_MS = 24 * 60 * 60 * 1000
const PUBLISH_ATTEMPTS = 20

/**
 * Objects as files: bucket `b`, key `k` is `<config.path>/b/k`. Puts go to a file of their own, are synced,
 * renamed into place, and the folder is synced, so a crash at any moment leaves the old object or the new one.
 * Never leaves the folder `config.path`: unsafe keys and symbolic links are UNSAFE_KEY. That protects against
 * mistakes and against what lies in the folder, not against someone who swaps folders for links during a call.
 */
export class FilesystemStore implements ObjectStore {
  readonly #options: FilesystemStoreOptions
  #config: FilesystemConfig | undefined
  #root = ''

  constructor(options: FilesystemStoreOptions) {
    this.#options = options
  }

  async init({ config, accessMode, signal }: InitOptions): Promise<void> {
    signal?.throwIfAborted()
    this.#config = parseFilesystemConfig(config)
    this.#root = await openRoot(this.#config.path)
    const { bucket, prefix } = this.#config
    if (this.#options.anyFolder !== true) {
      for (const below of ['', bucket, `${bucket}/${prefix}`]) refuseSystemFolder(join(this.#root, below))
    }
    this.#options.downloads.addSource(this.#sourceName(), object => this.#openForDownload(object))
    if (bucket === '') return
    if (this.#config.createBucket) await this.#createBucket(bucket)
    const folder = await this.#bucketFolder({ bucket })
    await checkAccess(folder, accessMode === 'ReadOnly' ? 'read' : 'write')
    if (accessMode !== 'ReadOnly') await this.#sweep(folder)
  }

  async putObject({ bucket, key, body, signal }: PutOptions): Promise<void> {
    const segments = safeSegments(key)
    const folder = await this.#bucketFolder({ bucket, ...(signal && { signal }) })
    const target = join(folder, ...segments)
    const incoming = join(folder, INCOMING, this.#options.randomName())
    try {
      await makePath(folder, [...INCOMING.split('/'), 'x'])
      await writeDurably(incoming, readBody(body, signal))
      signal?.throwIfAborted()
      const { fence = noFence } = this.#options
      fence.check(`put ${key}`)
      await publish({ incoming, folder, segments })
    } catch (error) {
      await unlink(incoming).catch(() => undefined)
      if (error instanceof FencedError) throw error
      throw filesystemError(error, 'write', target)
    }
  }

  async objectExists(options: KeyOptions): Promise<boolean> {
    return (await this.objectSize(options)) !== undefined
  }

  async objectSize(options: KeyOptions): Promise<number | undefined> {
    const segments = safeSegments(options.key)
    const folder = await this.#bucketFolder(options)
    try {
      const path = await findPath(folder, segments)
      const found = path === undefined ? undefined : await lookAt(path)
      return found?.isFile() === true ? Number(found.size) : undefined
    } catch (error) {
      throw filesystemError(error, 'read', join(folder, ...segments))
    }
  }

  async getObject(options: KeyOptions): Promise<Readable> {
    const { handle } = await this.#openObject(options)
    const stream = handle.createReadStream()
    return options.signal === undefined ? stream : addAbortSignal(options.signal, stream)
  }

  async *listCommonPrefixes(options: ListPrefixesOptions): AsyncGenerator<string> {
    if (options.delimiter !== '/') return yield* this.#prefixesByDelimiter(options)
    const walk = await this.#walkFrom(options)
    try {
      yield* walkFolders(walk)
    } catch (error) {
      throw filesystemError(error, 'list', walk.folder)
    }
  }

  async *listObjects(options: ListOptions): AsyncGenerator<string> {
    const walk = await this.#walkFrom(options)
    try {
      yield* walkKeys(walk)
    } catch (error) {
      throw filesystemError(error, 'list', walk.folder)
    }
  }

  async deleteObject(options: KeyOptions): Promise<void> {
    const segments = safeSegments(options.key)
    const folder = await this.#bucketFolder(options)
    try {
      const path = await findPath(folder, segments)
      if (path === undefined || (await lookAt(path))?.isFile() !== true) return
      await unlink(path)
      await syncFolder(dirname(path))
      await pruneFolders(dirname(path), folder)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return
      throw filesystemError(error, 'delete', join(folder, ...segments))
    }
  }

  async createSignedUrl({ bucket, key, ttlSeconds }: SignedUrlOptions): Promise<string> {
    safeSegments(key)
    const publicUrl = this.#ready().publicUrl
    return this.#options.downloads.sign({ source: this.#sourceName(), bucket, key, ttlSeconds, publicUrl })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is held between calls. The source stays: links outlive the store that signed them.
  }

  async *#prefixesByDelimiter({ delimiter, ...options }: ListPrefixesOptions): AsyncGenerator<string> {
    let last: string | undefined
    for await (const key of this.listObjects(options)) {
      const end = key.indexOf(delimiter, options.prefix.length)
      const prefix = end < 0 ? undefined : key.slice(0, end + delimiter.length)
      if (prefix !== undefined && prefix !== last) yield prefix
      last = prefix ?? last
    }
  }

  async #walkFrom(options: ListOptions): Promise<WalkOptions> {
    const bucket = await this.#bucketFolder(options)
    const { prefix, signal } = options
    const keyPrefix = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    const namePrefix = prefix.slice(keyPrefix.length)
    if (keyPrefix === '') return { folder: bucket, keyPrefix, namePrefix, signal }
    const segments = safeSegments(keyPrefix.slice(0, -1))
    try {
      // A folder that does not exist is walked as an empty one.
      const folder = join(bucket, ...segments)
      if ((await findPath(bucket, segments)) !== undefined) await lookAt(folder)
      return { folder, keyPrefix, namePrefix, signal }
    } catch (error) {
      throw filesystemError(error, 'list', join(bucket, ...segments))
    }
  }

  async #openObject(options: KeyOptions): Promise<{ handle: FileHandle; size: number }> {
    const segments = safeSegments(options.key)
    const folder = await this.#bucketFolder(options)
    const target = join(folder, ...segments)
    const path = await findPath(folder, segments).catch(error => {
      throw filesystemError(error, 'read', target)
    })
    const opened = path === undefined ? undefined : await openFile(path)
    if (opened === undefined) {
      throw new ObjectStoreError('NOT_FOUND', { reason: `there is no object ${options.key} in ${folder}` })
    }
    return opened
  }

  async #openForDownload(object: { bucket: string; key: string }): Promise<DownloadObject> {
    const { handle, size } = await this.#openObject(object)
    return {
      size,
      read: (start, end) => handle.createReadStream({ start, end, autoClose: false }),
      [Symbol.asyncDispose]: () => handle.close(),
    }
  }

  /** The bucket's folder, which exists and is no link. */
  async #bucketFolder({ bucket, signal }: BucketOptions): Promise<string> {
    signal?.throwIfAborted()
    const { path } = this.#ready()
    const folder = this.#bucketPath(bucket)
    try {
      if ((await lookAt(folder))?.isDirectory() === true) return folder
    } catch (error) {
      throw filesystemError(error, 'open', folder)
    }
    throw new ObjectStoreError('NO_BUCKET', {
      reason: `the bucket ${JSON.stringify(bucket)} is no folder in ${path}`,
      hint: `Create it (mkdir ${folder}) after checking that the right file system is mounted there, or set config.createBucket to "true"`,
    })
  }

  #bucketPath(bucket: string): string {
    const segments = safeSegments(bucket)
    if (segments.length !== 1) throw unsafe(`the bucket name ${JSON.stringify(bucket)} contains a "/"`)
    return join(this.#root, bucket)
  }

  async #createBucket(bucket: string): Promise<void> {
    const folder = this.#bucketPath(bucket)
    try {
      await makePath(this.#root, [bucket, 'x'])
    } catch (error) {
      throw filesystemError(error, 'create', folder)
    }
  }

  async #sweep(folder: string): Promise<void> {
    const incoming = join(folder, INCOMING)
    try {
      if ((await lookAt(incoming)) === undefined) return
      for (const name of await readdir(incoming)) {
        const path = join(incoming, name)
        const { mtimeMs } = await stat(path)
        if (mtimeMs + INCOMING_LIFETIME_MS < this.#options.clock.now()) await unlink(path)
      }
    } catch (error) {
      // Another server may be finishing or sweeping the same files.
      if (errnoOf(error) !== 'ENOENT') throw filesystemError(error, 'sweep', incoming)
    }
  }

  #sourceName(): string {
    return createHash('sha256').update(this.#root).digest('hex').slice(0, 16)
  }

  #ready(): FilesystemConfig {
    if (this.#config === undefined) throw new Error('init was not called on this store')
    return this.#config
  }
}

async function openRoot(path: string): Promise<string> {
  const hint = 'Mount or create a folder there, or correct config.path'
  try {
    const root = await realpath(path)
    if ((await stat(root)).isDirectory()) return root
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR')
      throw filesystemError(error, 'open', path)
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason: `config.path ${path} does not exist`,
      hint,
      cause: error,
    })
  }
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `config.path ${path} is a file, not a folder`,
    hint,
  })
}

async function checkAccess(folder: string, need: 'read' | 'write'): Promise<void> {
  const reading = constants.R_OK | constants.X_OK
  try {
    await access(folder, need === 'read' ? reading : reading | constants.W_OK)
  } catch (error) {
    throw filesystemError(error, need === 'read' ? 'read' : 'write to', folder)
  }
}

async function writeDurably(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(path, 'wx', 0o640)
  try {
    for await (const chunk of chunks) await writeAll(handle, chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.byteLength; ) {
    written += (await handle.write(chunk, written)).bytesWritten
  }
}

interface Publication {
  incoming: string
  folder: string
  segments: readonly string[]
}

/** Renames a finished file into place. A delete that prunes the same folders meanwhile only makes it try again. */
async function publish({ incoming, folder, segments }: Publication): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const target = await makePath(folder, segments)
      await rename(incoming, target)
      // Who has deleted the object since has taken its folder along.
      await syncFolder(dirname(target)).catch(unlessMissing)
      return
    } catch (error) {
      if (attempt === PUBLISH_ATTEMPTS) throw error
      if (errnoOf(error) === 'EISDIR') await removeEmptyFolder(join(folder, ...segments), error)
      else if (errnoOf(error) !== 'ENOENT') throw error
    }
  }
}

function unlessMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error
}

/** A folder without objects is not in the way of a key; one with objects is. */
async function removeEmptyFolder(path: string, cause: unknown): Promise<void> {
  try {
    await rmdir(path)
  } catch {
    throw unsafe(`${path} is a folder of other objects, so it cannot be an object itself`, cause)
  }
}

/** Undefined when there is no regular file. Does not block on pipes and does not follow links. */
async function openFile(path: string): Promise<{ handle: FileHandle; size: number } | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const stats = await handle.stat()
    if (stats.isFile()) return { handle, size: stats.size }
    await handle.close()
    return undefined
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT' || errno === 'ENOTDIR' || errno === 'ENXIO') return undefined
    if (errno === 'ELOOP') throw unsafeLink(path)
    throw filesystemError(error, 'read', path)
  }
}
