import { randomBytes as systemRandomBytes } from 'node:crypto'
import type { BlobStorage } from './blob/storage.ts'
import { type Clock, systemClock } from './clock/clock.ts'
import { CommittedIndex } from './content/committed-index.ts'
import type { ContentCodec } from './content/content-codec.ts'
import { ContentReader } from './content/content-reader.ts'
import type { ContentStore, ContentWriter } from './content/content-store.ts'
import { createContentWriter } from './content/content-writer.ts'
import { PackRanges } from './content/pack-ranges.ts'
import type { ClientIdentity } from './content/write-session.ts'
import { createContentEncryption } from './encryption/content-encryption.ts'
import { type RepoError, throwIfCancelled } from './errors/repo-error.ts'
import { emptyBlobConfig } from './format/blob-config.ts'
import type { BlobCrypto } from './format/blob-crypto.ts'
import {
  type CreateFormatOptions,
  createFormatBlob,
  type OpenFormat,
  openFormatBlob,
  requireWritableFormat,
} from './format/repository-format.ts'
import { createContentHash } from './hashing/content-hash.ts'
import {
  defaultMaintenanceParams,
  maintenanceParamsLabels,
  serializeMaintenanceParams,
} from './maintenance/params.ts'
import type { RebuiltIndex } from './maintenance/rebuilt-indexes.ts'
import { type ManifestCache, ManifestReader } from './manifest/manifest-reader.ts'
import type { ManifestStore, ManifestWriter } from './manifest/manifest-store.ts'
import { createManifestWriter } from './manifest/manifest-writer.ts'
import {
  type ObjectStore,
  type ObjectStoreWriter,
  objectStore,
  objectStoreWriter,
} from './object/object-store.ts'
import { pooledRandom } from './pooled-random.ts'
import { requireStillUnlocked } from './require-still-unlocked.ts'
import { layeredStorage, type RepositoryCache, retainingAs } from './storage-layers.ts'

/** What a writing scope may do. */
export interface RepositoryWriter {
  readonly repository: Repository
  readonly contents: ContentWriter
  readonly objects: ObjectStoreWriter
  readonly manifests: ManifestWriter
  /** Makes everything so far durable and visible, manifests included. */
  flush(signal?: AbortSignal): Promise<void>
}

/** How a writing scope runs. */
export interface WritingOptions {
  /** Ends the scope: what was not flushed is given up. */
  signal?: AbortSignal | undefined
}

/** An opened repository. */
export interface Repository extends AsyncDisposable {
  readonly storage: BlobStorage
  readonly format: OpenFormat
  /** Hash and cipher of contents and whole blobs. */
  readonly crypto: BlobCrypto
  readonly clock: Clock
  readonly client: ClientIdentity
  readonly index: CommittedIndex
  readonly contents: ContentStore
  readonly objects: ObjectStore
  readonly manifests: ManifestStore
  /** Takes in what others have written since. */
  refresh(signal?: AbortSignal): Promise<void>
  /**
   * Runs `work` with a writer of its own. Everything is flushed when `work` resolves; when it throws, what was not
   * flushed is given up. Scopes may overlap. Throws `UNSUPPORTED_FORMAT` for format version 1, and what the storage throws,
   * such as `READ_ONLY`.
   */
  writing<T>(options: WritingOptions, work: (writer: RepositoryWriter) => Promise<T>): Promise<T>
}

/** What opening a repository takes. */
export interface OpenRepositoryOptions {
  /** Closed with the repository. */
  storage: BlobStorage
  password: string
  clock?: Clock | undefined
  /** Who writes: `default` at `default`, as Velero has it, when absent. */
  client?: ClientIdentity | undefined
  /** Refuses to write, whatever the storage allows. */
  readOnly?: boolean | undefined
  /** Remembers on disk what was read; for storages that are slower than a disk. None when absent. */
  cache?: RepositoryCache | undefined
  /**
   * Reads on where an index blob is damaged: its entries are taken from the packs, and this is told of each such blob.
   * Nothing can be written then. Absent: a damaged index blob is `CORRUPT`.
   */
  onRebuiltIndex?: ((rebuilt: RebuiltIndex) => void) | undefined
  /** Hashes every content again after reading. */
  rehash?: boolean | undefined
  /** Keeps whole metadata packs in memory, up to this many bytes; none when absent. */
  metadataPackBytes?: number | undefined
  /** Slices of one metadata pack that are read alone, before the next one brings the whole pack; 0 when absent. */
  slicesBeforeWhole?: number | undefined
  /** Full packs that are not stored yet: no more bytes than this, plus one pack. */
  maxBytesInFlight?: number | undefined
  /** Reads the manifests that can be read when some cannot; `manifests.damaged` lists those. */
  skipDamagedManifests?: boolean | undefined
  randomBytes?: ((length: number) => Uint8Array) | undefined
  /** Told of failures that change no result. */
  onIgnoredError?: ((error: RepoError) => void) | undefined
  signal?: AbortSignal | undefined
}

/** What creating a repository takes besides. */
export interface CreateRepositoryOptions extends OpenRepositoryOptions {
  /** Algorithms and limits; Kopia's and Velero's defaults when absent. */
  format?: CreateFormatOptions['format']
  keyAlgorithm?: CreateFormatOptions['keyAlgorithm']
  blobConfig?: CreateFormatOptions['blobConfig']
}

const defaultClient: ClientIdentity = { username: 'default', hostname: 'default' }

/**
 * Makes an empty storage a repository, with the client as the owner of its maintenance, and opens it. Throws
 * `ALREADY_EXISTS` when the storage holds anything.
 */
export async function createRepository(options: CreateRepositoryOptions): Promise<Repository> {
  const { password, format, keyAlgorithm, blobConfig, randomBytes, clock = systemClock, signal } = options
  const storage = retainingAs(options.storage, blobConfig ?? emptyBlobConfig, clock)
  const created = await createFormatBlob(storage, {
    password,
    ...(format && { format }),
    ...(keyAlgorithm && { keyAlgorithm }),
    ...(blobConfig && { blobConfig }),
    ...(randomBytes && { randomBytes }),
    signal,
  })
  const repository = await openWithFormat(created, options)
  const { username, hostname } = repository.client
  const params = serializeMaintenanceParams(defaultMaintenanceParams(`${username}@${hostname}`))
  await repository.writing({ signal }, ({ manifests }) => manifests.replace(maintenanceParamsLabels, params))
  return repository
}

/**
 * Opens the repository in a storage. New blobs are protected from deletion where the repository says so. Throws
 * `NOT_A_REPOSITORY`, `BAD_PASSWORD`, `UNSUPPORTED_FORMAT`, `LOCKED`, `CORRUPT`, and what the storage throws.
 */
export async function openRepository(options: OpenRepositoryOptions): Promise<Repository> {
  const { storage, password, clock = systemClock, signal } = options
  return openWithFormat(await openFormatBlob(storage, password, { clock, signal }), options)
}

/** Opens the repository in a storage whose format was opened before. Throws as `openRepository` does. */
export async function openWithFormat(
  format: OpenFormat,
  options: Omit<OpenRepositoryOptions, 'password'>,
): Promise<Repository> {
  const { clock = systemClock, client = defaultClient, randomBytes = systemRandomBytes } = options
  const crypto = await cryptoOf(format, pooledRandom(randomBytes))
  const storage = await layeredStorage(options.storage, { format, crypto }, { ...options, clock })
  const beforeStaleRefresh = (signal?: AbortSignal) =>
    requireStillUnlocked(storage, format, { clock, signal })
  const index = new CommittedIndex({ storage, crypto, clock, format: format.format, beforeStaleRefresh })
  await index.refresh(options.signal)
  const codec = { ...crypto, rehash: options.rehash }
  const ranges = new PackRanges({ ...options, storage })
  return new OpenedRepository({
    ...options,
    storage,
    openFormat: format,
    crypto,
    codec,
    index,
    ranges,
    clock,
    client,
    randomBytes,
  })
}

async function cryptoOf(
  { format, keys }: OpenFormat,
  randomBytes: (length: number) => Uint8Array,
): Promise<BlobCrypto> {
  const ecc =
    format.ecc === undefined ? {} : { ecc: { name: format.ecc, overheadPercent: format.eccOverheadPercent } }
  return {
    hash: await createContentHash(format.hash, keys.hash),
    encryption: createContentEncryption({
      name: format.encryption,
      secret: keys.encryption,
      ...ecc,
      randomBytes,
    }),
  }
}

interface RepositoryParts extends Omit<OpenRepositoryOptions, 'password'> {
  openFormat: OpenFormat
  crypto: BlobCrypto
  codec: ContentCodec
  index: CommittedIndex
  ranges: PackRanges
  clock: Clock
  client: ClientIdentity
  randomBytes: (length: number) => Uint8Array
}

class OpenedRepository implements Repository {
  readonly storage: BlobStorage
  readonly format: OpenFormat
  readonly crypto: BlobCrypto
  readonly clock: Clock
  readonly client: ClientIdentity
  readonly index: CommittedIndex
  readonly contents: ContentStore
  readonly objects: ObjectStore
  readonly manifests: ManifestStore
  readonly #parts: RepositoryParts
  readonly #cache: ManifestCache = new Map()

  constructor(parts: RepositoryParts) {
    this.#parts = parts
    this.storage = parts.storage
    this.format = parts.openFormat
    this.crypto = parts.crypto
    this.clock = parts.clock
    this.client = parts.client
    this.index = parts.index
    this.contents = new ContentReader(parts)
    this.objects = objectStore(this.contents)
    const { skipDamagedManifests: skipDamaged } = parts
    this.manifests = new ManifestReader({ contents: this.contents, cache: this.#cache, skipDamaged })
  }

  refresh(signal?: AbortSignal): Promise<void> {
    return this.manifests.refresh(signal)
  }

  async writing<T>({ signal }: WritingOptions, work: (writer: RepositoryWriter) => Promise<T>): Promise<T> {
    const { format } = this.format
    requireWritableFormat(format)
    throwIfCancelled(signal)
    await using contents = createContentWriter({ ...this.#parts, format, signal })
    const writer = this.#writerOver(contents)
    const result = await work(writer)
    await writer.flush(signal)
    return result
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.storage[Symbol.asyncDispose]()
  }

  #writerOver(contents: ContentWriter): RepositoryWriter {
    const { clock, randomBytes } = this.#parts
    const manifests = createManifestWriter({ contents, clock, randomBytes, cache: this.#cache })
    return {
      repository: this,
      contents,
      objects: objectStoreWriter(contents, this.format.format.splitter),
      manifests,
      flush: signal => manifests.flush(signal),
    }
  }
}
