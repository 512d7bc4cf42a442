/** Names one object or one manifest of a unified repository; only a repository mints one. */
export type RepoId = string & { readonly kind: 'RepoId' }

/** What an object holds. `metadata` says how data is organised, such as a directory. */
export const ObjectDataType = { unknown: 0, metadata: 1, data: 2 } as const
export type ObjectDataType = (typeof ObjectDataType)[keyof typeof ObjectDataType]

/** Whether the object stands for a file or for a block device. */
export const ObjectAccessMode = { unknown: 0, file: 1, block: 2 } as const
export type ObjectAccessMode = (typeof ObjectAccessMode)[keyof typeof ObjectAccessMode]

/**
 * What a range that the writer seeks over becomes: zeros in a `full` write (and in an `unknown` one), the
 * parent object's bytes in an `incremental` one.
 */
export const ObjectBackupMode = { unknown: 0, full: 1, incremental: 2 } as const
export type ObjectBackupMode = (typeof ObjectBackupMode)[keyof typeof ObjectBackupMode]

/** How urgent a write is: `low` lets other work of the process go first each time, the others do not wait. */
export const WritePriority = { low: -1, normal: 0, high: 1 } as const
export type WritePriority = (typeof WritePriority)[keyof typeof WritePriority]

/** First letter of the contents that an object is stored as: it decides the kind of pack they go to. */
export const ObjectPrefix = { none: '', directory: 'k', indirect: 'x' } as const
export type ObjectPrefix = (typeof ObjectPrefix)[keyof typeof ObjectPrefix]

/** The storages a repository can lie on. */
export const StorageType = { s3: 's3', filesystem: 'filesystem' } as const
export type StorageType = (typeof StorageType)[keyof typeof StorageType]

/** Keys of `RepoOptions.generalOptions`. */
export const GeneralOption = {
  maintainMode: 'mode',
  ownerName: 'username',
  ownerDomain: 'domainname',
  readOnly: 'readOnly',
  fullMaintenanceInterval: 'fullMaintenanceInterval',
  hashAlgorithm: 'hashAlgo',
  encryptionAlgorithm: 'encryptAlgo',
  splitAlgorithm: 'splitAlgo',
  /** For a new repository in a bucket with object lock: `GOVERNANCE` or `COMPLIANCE`. */
  retentionMode: 'retentionMode',
  /** How long blobs are protected from deletion, such as `720h`. */
  retentionPeriod: 'retentionPeriod',
} as const

/** Values of the general option `mode`: `auto` runs what the schedule says is due. */
export const MaintainMode = { full: 'full', quick: 'quick', auto: 'auto' } as const
export type MaintainMode = (typeof MaintainMode)[keyof typeof MaintainMode]

/** Keys of `RepoOptions.storageOptions`. */
export const StorageOption = {
  path: 'fspath',
  bucket: 'bucket',
  prefix: 'prefix',
  region: 'region',
  endpoint: 'endpoint',
  accessKeyId: 'accessKeyID',
  secretAccessKey: 'secretAccessKey',
  sessionToken: 'sessionToken',
  disableTls: 'doNotUseTLS',
  skipTlsVerify: 'skipTLSVerify',
  caCertificate: 'caCert',
  /** Bytes per second. */
  uploadBytes: 'uploadBytes',
  downloadBytes: 'downloadBytes',
  /** A folder for the cache of what was read; each repository gets one of its own in it. */
  cacheFolder: 'cacheDir',
  /** Megabytes, of which metadata gets a fifth; 5000 unless given, 0 for no cache. */
  cacheLimitMB: 'cacheLimitMB',
  /** `false`: only metadata is kept in the cache, and no file data. */
  cacheContents: 'cacheContents',
} as const

/** Where a repository is and how it is opened. */
export interface RepoOptions {
  readonly storageType: StorageType
  readonly repoPassword: string
  /** A file for local state of the repository. The native implementation keeps none and ignores it. */
  readonly configFilePath?: string
  readonly generalOptions?: Readonly<Record<string, string>>
  readonly storageOptions: Readonly<Record<string, string>>
  /** For logs only; changes nothing. */
  readonly description?: string
}

/** What a caller may give with each call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** Initialises, opens and maintains unified repositories. */
export interface BackupRepoService {
  /**
   * Creates a repository, or checks that the existing one can be opened. Throws `ALREADY_EXISTS` when a new
   * one is wanted and there is one, `NOT_A_REPOSITORY` when an existing one is wanted and there is none,
   * `BAD_PASSWORD` for another password.
   */
  init(options: RepoOptions, call: CallOptions & { readonly createNew: boolean }): Promise<void>
  /** Opens a repository that `init` has created or checked; the caller closes it. */
  open(options: RepoOptions, call?: CallOptions): Promise<BackupRepo>
  /** Runs the maintenance named by the general option `mode`, `auto` unless given. */
  maintain(options: RepoOptions, call?: CallOptions): Promise<void>
  /** Milliseconds between calls of `maintain`. */
  defaultMaintenanceFrequency(): number
}

/** An open unified repository. `await using` closes it without flushing, as `close` does. */
export interface BackupRepo extends AsyncDisposable {
  /** Throws `OBJECT_NOT_FOUND` or `CONTENT_NOT_FOUND`. */
  openObject(id: RepoId, call?: CallOptions): Promise<ObjectReader>
  /** Throws `MANIFEST_NOT_FOUND`. */
  getManifest(id: RepoId, call?: CallOptions): Promise<RepoManifest & { metadata: ManifestEntryMetadata }>
  /** All manifests that carry every label of the filter, oldest first. */
  findManifests(filter: ManifestFilter, call?: CallOptions): Promise<ManifestEntryMetadata[]>
  newObjectWriter(options?: ObjectWriteOptions): ObjectWriter
  /** Saves a manifest under a new id; its labels must include `type`. */
  putManifest(manifest: RepoManifest, call?: CallOptions): Promise<RepoId>
  deleteManifest(id: RepoId, call?: CallOptions): Promise<void>
  /** Makes all that was written so far durable and visible to others. */
  flush(call?: CallOptions): Promise<void>
  /** Milliseconds since the epoch by the repository's clock, which need not be the caller's. */
  time(): number
  /** Gives up everything that was not flushed. */
  close(): Promise<void>
}

/** From where `seek` counts, as in POSIX. */
export type SeekOrigin = 'start' | 'current' | 'end'

/** Reads one object from any position. */
export interface ObjectReader extends AsyncDisposable {
  readonly length: number
  /** Up to `length` bytes from the position, which moves by as many; empty at the end. */
  read(length: number): Promise<Uint8Array>
  /**
   * Moves the position and returns it. Throws `INVALID_RANGE` before the start; behind the end reads are
   * empty.
   */
  seek(offset: number, origin?: SeekOrigin): number
  /** The bytes from the position to the end. */
  stream(): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/**
 * Writes one object from front to back; ranges may be left out by seeking forward. Calls must be awaited in
 * turn.
 */
export interface ObjectWriter extends AsyncDisposable {
  write(bytes: Uint8Array): Promise<void>
  /**
   * Moves the position forward and returns it. What lies between is the parent object's bytes in an
   * incremental write, zeros elsewhere and behind the parent's end. Throws `INVALID_RANGE` for a position
   * before the current one.
   */
  seek(offset: number, origin?: 'start' | 'current'): Promise<number>
  /** An object of what was written so far, or undefined when that cannot be had. */
  checkpoint(): Promise<RepoId | undefined>
  /** Ends the object and returns its id. */
  result(): Promise<RepoId>
  /** Gives up the object unless `result` was called. */
  close(): Promise<void>
}

/** How one object is written. */
export interface ObjectWriteOptions {
  /** Logical path, for messages only. */
  readonly fullPath?: string
  readonly dataType?: ObjectDataType
  readonly description?: string
  readonly prefix?: ObjectPrefix
  readonly accessMode?: ObjectAccessMode
  readonly backupMode?: ObjectBackupMode
  readonly priority?: WritePriority
  /**
   * The object whose bytes fill the ranges left out; needed by the incremental mode and refused elsewhere.
   */
  readonly parentObject?: RepoId
  readonly signal?: AbortSignal
}

/** What is known about a manifest without its payload. */
export interface ManifestEntryMetadata {
  readonly id: RepoId
  /** Bytes of the payload's JSON. */
  readonly length: number
  readonly labels: Readonly<Record<string, string>>
  /** Milliseconds since the epoch. */
  readonly modTime: number
}

/** A labelled JSON document. */
export interface RepoManifest {
  readonly payload: unknown
  readonly metadata: Pick<ManifestEntryMetadata, 'labels'> & Partial<ManifestEntryMetadata>
}

/** Selects manifests; an empty filter selects all. */
export interface ManifestFilter {
  readonly labels: Readonly<Record<string, string>>
}
