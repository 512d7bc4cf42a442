import type { Readable } from 'node:stream'

/** The settings of a location as it carries them: strings only, plus `bucket`, `prefix`, `caCert` and `credentialsFile`. */
export type ObjectStoreConfig = Readonly<Record<string, string | undefined>>

export interface InitOptions {
  config: ObjectStoreConfig
  /** With `ReadOnly` the caller promises never to write; a store then need not be writable. Default `ReadWrite`. */
  accessMode?: 'ReadWrite' | 'ReadOnly'
  signal?: AbortSignal
}

export interface BucketOptions {
  bucket: string
  signal?: AbortSignal
}

export interface KeyOptions extends BucketOptions {
  key: string
}

/** The bytes of an object. An iterable is read once, chunk by chunk, and closed in every case. */
export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array>

export interface PutOptions extends KeyOptions {
  body: ObjectBody
}

export interface ListPrefixesOptions extends BucketOptions {
  /** Empty, or ending with the delimiter. */
  prefix: string
  delimiter: string
}

export interface ListOptions extends BucketOptions {
  /** Any beginning of keys; empty lists the bucket. */
  prefix: string
}

export interface SignedUrlOptions extends KeyOptions {
  ttlSeconds: number
}

/**
 * A place for whole objects under string keys: S3, a folder, whatever a provider brings. A location's store is
 * made by its provider's factory, initialised once, used concurrently, and closed.
 *
 * What every store promises, and what the conformance suite checks:
 * - A put is atomic. A reader sees the old object, the new one or none, never a part; a put whose body fails,
 *   whose signal aborts or whose process dies leaves what was there before.
 * - A reader sees a put, an overwrite or a delete that has returned (read after write).
 * - Keys are opaque strings of segments joined by `/`. `putObject` refuses with UNSAFE_KEY what
 *   `portableKeyProblem` objects to. A store may also refuse a key that runs through another object's key
 *   (`a/b` beside `a`), because folders cannot hold both.
 * - Lists are in ascending order of the keys' UTF-8 bytes and hold memory for one page only.
 * - Deleting what is not there is no error. Getting what is not there rejects with NOT_FOUND.
 * - A bucket that is not there rejects with NO_BUCKET; `objectExists` and `deleteObject` may take it for empty.
 * - Everything rejects with an `ObjectStoreError`, or with the signal's reason once the signal has aborted.
 */
export interface ObjectStore extends AsyncDisposable {
  /** Reads the settings, unknown ones are INVALID_CONFIG; may talk to the store. Called once, before all else. */
  init(options: InitOptions): Promise<void>
  /** Stores an object of any size with bounded memory, replacing the one of that key. */
  putObject(options: PutOptions): Promise<void>
  objectExists(options: KeyOptions): Promise<boolean>
  /** How many bytes an object has, undefined for one that is not there. Stores that would have to read it do without. */
  objectSize?(options: KeyOptions): Promise<number | undefined>
  /** Resolves once the object is known to exist. The caller reads the stream to its end or destroys it. */
  getObject(options: KeyOptions): Promise<Readable>
  /** The distinct beginnings of keys up to and including the first delimiter after `prefix`, in full. */
  listCommonPrefixes(options: ListPrefixesOptions): AsyncIterable<string>
  /** The keys that begin with `prefix`, at any depth, in full. */
  listObjects(options: ListOptions): AsyncIterable<string>
  deleteObject(options: KeyOptions): Promise<void>
  /** A URL that anyone may GET for the next `ttlSeconds`, without credentials. Says nothing about existence. */
  createSignedUrl(options: SignedUrlOptions): Promise<string>
}

/** Makes a store that is not initialised yet. */
export type ObjectStoreFactory = () => ObjectStore

const MAX_KEY_BYTES = 1024
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/

/**
 * Why a key could not be stored everywhere, or undefined if it can. The rules are the strictest of S3 (1024
 * bytes, XML 1.0 lists) and folders (no empty, `.` or `..` segment, 255 bytes a segment).
 */
export function portableKeyProblem(key: string): string | undefined {
  if (key === '') return 'it is empty'
  if (!key.isWellFormed()) return 'it is not well-formed Unicode'
  if (CONTROL_CHARACTER.test(key)) return 'it contains a control character'
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`
  for (const segment of key.split('/')) {
    if (segment === '') return 'it begins or ends with "/" or contains "//"'
    if (segment === '.' || segment === '..') return `it contains the segment "${segment}"`
    if (Buffer.byteLength(segment) > 255) return 'a segment of it is longer than 255 bytes'
  }
  return undefined
}
