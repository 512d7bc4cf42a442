import { randomBytes } from 'node:crypto'
import { constants, type Dirent, type Stats } from 'node:fs'
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { type Clock, systemClock } from '../../clock/clock.ts'
import { RepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import {
  type BlobId,
  type BlobRange,
  type BlobStorage,
  dataLength,
  type GetBlobOptions,
  rangeWithin,
} from '../storage.ts'
import {
  bodyLengthOf,
  type CacheEntrySeal,
  fileRangeOf,
  parseCacheEntry,
  serializeCacheEntry,
} from './cache-entry.ts'

/** Settings of a cache on disk. */
export interface CachingOptions {
  /** A folder for this repository alone; made if missing. Several processes may share it. */
  readonly folder: string
  /** A secret of the repository; entries that were not made with it are not used. */
  readonly key: Uint8Array
  /** For metadata packs and indexes, kept whole: 5 GB when not given, 0 for none. */
  readonly metadataBytes?: number | undefined
  /** For ranges of data packs: 5 GB when not given, 0 for none. */
  readonly contentBytes?: number | undefined
  readonly clock?: Pick<Clock, 'now'> | undefined
  readonly randomBytes?: ((length: number) => Uint8Array) | undefined
  /** Told when the cache cannot be read or written; the storage then serves alone. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

/**
 * Remembers on disk what was read: metadata packs (`q`) and indexes (`x`, `n`) whole, data packs (`p`) by range. Those are
 * written once and never changed, so what is remembered stays right, and may be given even after the blob was
 * deleted; `head` and `list` always ask the storage. An entry is used only if its authentication code fits; a torn, damaged or
 * foreign one counts as absent and is removed. When a limit is passed, what was not used for longest goes.
 * Trouble with the cache itself never fails an operation: after a failed write, as on a full disk, it takes nothing for a minute.
 */
export function caching(storage: BlobStorage, options: CachingOptions): BlobStorage {
  const metadata = new CacheFolder(path.join(options.folder, 'metadata'), options.metadataBytes, options)
  const contents = new CacheFolder(path.join(options.folder, 'contents'), options.contentBytes, options)
  const fetching = new Map<BlobId, Promise<Uint8Array>>()

  /** Many who want parts of one metadata pack cause one transfer, which goes on when one of them gives up. */
  function fetchWhole(id: BlobId): Promise<Uint8Array> {
    const running = fetching.get(id)
    if (running !== undefined) return running
    const started = storage
      .get(id)
      .then(async bytes => {
        await metadata.write(id, bytes)
        return bytes
      })
      .finally(() => fetching.delete(id))
    fetching.set(id, started)
    return started
  }

  async function getMetadata(id: BlobId, wanted: GetBlobOptions): Promise<Uint8Array> {
    const cached = wanted.fresh ? undefined : await metadata.read(id, wanted)
    if (cached !== undefined) return cached
    const whole = await unlessAborted(fetchWhole(id), wanted.signal)
    const { offset, length } = rangeWithin(id, whole.length, wanted)
    return whole.slice(offset, offset + length)
  }

  async function getContent(id: BlobId, wanted: GetBlobOptions & BlobRange): Promise<Uint8Array> {
    const name = `${id}/${wanted.offset}-${wanted.length}`
    const cached = wanted.fresh ? undefined : await contents.read(name, {})
    if (cached !== undefined) return cached
    const bytes = await storage.get(id, wanted)
    await contents.write(name, bytes)
    return bytes
  }

  async function forget(id: BlobId): Promise<void> {
    await Promise.all([metadata.remove(id), contents.remove(id)])
  }

  return {
    description: storage.description,
    async get(id, wanted = {}) {
      throwIfCancelled(wanted.signal)
      const { offset = 0, length = 0 } = wanted
      if (isMetadata(id) && metadata.used) return getMetadata(id, wanted)
      if (id.startsWith('p') && contents.used && length > 0) {
        return getContent(id, { ...wanted, offset, length })
      }
      return storage.get(id, wanted)
    },
    head: (id, headOptions) => storage.head(id, headOptions),
    list: (prefix, listOptions) => storage.list(prefix, listOptions),
    async put(id, data, putOptions) {
      await storage.put(id, data, putOptions)
      await forget(id)
    },
    retain: (id, retention, retainOptions) => storage.retain(id, retention, retainOptions),
    async delete(id, deleteOptions) {
      await storage.delete(id, deleteOptions)
      await forget(id)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([metadata.settled(), contents.settled(), ...[...fetching.values()].map(ended)])
      await storage[Symbol.asyncDispose]()
    },
  }
}

const defaultBytes = 5_000_000_000
const fileMode = 0o600
const folderMode = 0o700
const temporaryName = /\.tmp\.[0-9a-f]{16}$/
/** How stale the note of an entry's last use may be, to save a system call per hit. */
const useNotedEveryMs = 60_000
/** How long nothing is written after a write failed. */
const pauseAfterFailureMs = 60_000
/** A temporary file this old was left by a process that died. */
const abandonedAfterMs = 3_600_000

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isMetadata(id: BlobId): boolean {
  return id.startsWith('q') || id.startsWith('x') || id.startsWith('n')
}

async function ended(promise: Promise<unknown>): Promise<void> {
  await promise.catch(() => {})
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const { promise: first, resolve, reject } = Promise.withResolvers<T>()
  const stop = () =>
    reject(new RepoError('CANCELLED', { message: 'The read was cancelled', cause: signal.reason }))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  return first
}

interface CacheFile {
  readonly file: string
  readonly size: number
  readonly usedAt: number
}

/** Entries below one folder and their limit. The time of last use is the file's modification time. */
class CacheFolder {
  readonly #folder: string
  readonly #limit: number
  readonly #options: CachingOptions
  readonly #clock: Pick<Clock, 'now'>
  /** Bytes that were there after the last sweep; unknown before the first. */
  #swept: number | undefined
  #addedSinceSweep = 0
  #sweeping: Promise<void> | undefined
  #writesAgainAt = Number.NEGATIVE_INFINITY

  constructor(folder: string, limit: number | undefined, options: CachingOptions) {
    this.#folder = folder
    this.#limit = limit ?? defaultBytes
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  get used(): boolean {
    return this.#limit > 0
  }

  /** A range of an entry's body; undefined when the entry is absent, too short or cannot be trusted. */
  async read(name: string, wanted: GetBlobOptions): Promise<Uint8Array | undefined> {
    const file = path.join(this.#folder, name)
    try {
      await using handle = await open(file, constants.O_RDONLY)
      const stats = await handle.stat()
      const body = await this.#readBody(handle, name, { wanted, total: bodyLengthOf(stats.size) })
      if (body === undefined) await unlink(file)
      else await this.#noteUse(file, stats)
      return body
    } catch (error) {
      this.#report(error)
      return undefined
    }
  }

  async #readBody(
    handle: FileHandle,
    name: string,
    { wanted, total = 0 }: { wanted: GetBlobOptions; total: number | undefined },
  ): Promise<Uint8Array | undefined> {
    const { offset = 0, length = total - offset } = wanted
    if (!(isCount(offset) && isCount(length) && offset + length <= total)) return undefined
    const part = fileRangeOf({ offset, length }, total)
    const bytes = Buffer.allocUnsafe(part.length)
    const { bytesRead } = await handle.read(bytes, 0, part.length, part.offset)
    return parseCacheEntry(this.#seal(name), bytes.subarray(0, bytesRead), { offset, length, total })
  }

  /** Keeps a body. The rename makes it appear whole; after a power failure its codes tell whether it is. */
  async write(name: string, body: Uint8Array): Promise<void> {
    if (this.#clock.now() < this.#writesAgainAt) return
    const file = path.join(this.#folder, name)
    const pieces = serializeCacheEntry(this.#seal(name), body)
    const suffix = Buffer.from((this.#options.randomBytes ?? randomBytes)(8)).toString('hex')
    const temporary = `${file}.tmp.${suffix}`
    try {
      await mkdir(path.dirname(file), { recursive: true, mode: folderMode })
      await writeFile(temporary, pieces, { mode: fileMode, flag: 'wx' })
      await rename(temporary, file)
      this.#added(dataLength(pieces))
    } catch (error) {
      this.#writesAgainAt = this.#clock.now() + pauseAfterFailureMs
      this.#report(error)
      await rm(temporary, { force: true }).catch(() => {})
    }
  }

  async remove(name: string): Promise<void> {
    await rm(path.join(this.#folder, name), { recursive: true, force: true }).catch(error =>
      this.#report(error),
    )
  }

  async settled(): Promise<void> {
    await this.#sweeping
  }

  #seal(name: string): CacheEntrySeal {
    return { key: this.#options.key, name }
  }

  async #noteUse(file: string, { mtimeMs }: Stats): Promise<void> {
    const now = this.#clock.now()
    if (Math.abs(now - mtimeMs) > useNotedEveryMs) await utimes(file, now / 1000, now / 1000)
  }

  /** The first entry of a process looks how full the cache already is. */
  #added(bytes: number): void {
    this.#addedSinceSweep += bytes
    if (this.#swept !== undefined && this.#swept + this.#addedSinceSweep <= this.#limit) return
    this.#sweeping ??= this.#sweep()
      .catch(error => this.#report(error))
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  async #sweep(): Promise<void> {
    do {
      // What is added while the entries are counted may be counted twice, and is looked at again soon.
      this.#addedSinceSweep = 0
      this.#swept = await this.#dropOldest(await this.#entries())
    } while (this.#swept + this.#addedSinceSweep > this.#limit)
  }

  /** Goes down to four fifths, as Kopia does for Velero, so that not every new entry looks through all of them. Gives the bytes that are left. */
  async #dropOldest(entries: CacheFile[]): Promise<number> {
    let bytes = entries.reduce((sum, entry) => sum + entry.size, 0)
    if (bytes <= this.#limit) return bytes
    for (const { file, size } of entries.sort((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= this.#limit * 0.8) break
      await rm(file, { force: true })
      // Fails, as it should, while other entries are in there.
      if (path.dirname(file) !== this.#folder) await rmdir(path.dirname(file)).catch(() => {})
      bytes -= size
    }
    return bytes
  }

  async #entries(): Promise<CacheFile[]> {
    const entries: CacheFile[] = []
    for (const found of await readdir(this.#folder, { recursive: true, withFileTypes: true })) {
      const file = path.join(found.parentPath, found.name)
      const stats = found.isFile() ? await stat(file).catch(() => undefined) : undefined
      if (stats === undefined) continue
      if (this.#isAbandoned(found, stats)) await rm(file, { force: true })
      else entries.push({ file, size: stats.size, usedAt: stats.mtimeMs })
    }
    return entries
  }

  #isAbandoned(found: Dirent, { mtimeMs }: Stats): boolean {
    return temporaryName.test(found.name) && this.#clock.now() - mtimeMs > abandonedAfterMs
  }

  #report(error: unknown): void {
    const absent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!absent) this.#options.onProblem?.(error)
  }
}
