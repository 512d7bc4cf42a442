import { RepoError } from '../errors/repo-error.ts'

/** The name of a blob. Only `blobId` and the storages' listings mint one. */
export type BlobId = string & { readonly kind: 'BlobId' }

/** Longest blob id; leaves room for a storage's suffixes within the 255 bytes of a file name. */
export const maxBlobIdLength = 220

// Printable ASCII but `/` and `\`: what every storage can hold as a name without quoting or nesting.
const validId = /^[!-.0-[\]-~]+$/

/**
 * The blob id in this text: 1 to 220 printable ASCII characters without space, slash and backslash, not starting
 * with a dot. Throws `INVALID_ARGUMENT` for anything else.
 */
export function blobId(text: string): BlobId {
  if (isBlobId(text)) return text
  throw new RepoError('INVALID_ARGUMENT', {
    message: `${JSON.stringify(text.slice(0, 300))} is not a blob id`,
    hint: `A blob id has 1 to ${maxBlobIdLength} printable ASCII characters, no space or slash, no dot in front.`,
  })
}

/** Whether a name found in a storage can be a blob id; what cannot be one is somebody else's file. */
export function isBlobId(text: string): text is BlobId {
  return text.length <= maxBlobIdLength && !text.startsWith('.') && validId.test(text)
}

/** What a storage knows of a blob without reading it. */
export interface BlobMetadata {
  readonly id: BlobId
  readonly length: number
  /** When the storage stored it by the storage's own clock, in ms since the epoch. */
  readonly timestamp: number
}

/** How an operation is cut short: it then rejects with `CANCELLED`. */
export interface BlobOptions {
  readonly signal?: AbortSignal | undefined
}

/** Which part of a blob to read; without both numbers all of it. */
export interface GetBlobOptions extends BlobOptions {
  /** First byte wanted; 0 when not given. */
  readonly offset?: number | undefined
  /** How many bytes; to the end when not given. */
  readonly length?: number | undefined
  /** From the storage itself, not from a copy that somebody remembers; for who has found the copy damaged. */
  readonly fresh?: boolean | undefined
}

/** How a blob is protected from deletion by the storage itself (S3 object lock). */
export interface BlobRetention {
  readonly mode: 'GOVERNANCE' | 'COMPLIANCE'
  /** In ms since the epoch. */
  readonly until: number
}

/** How to store a blob. */
export interface PutBlobOptions extends BlobOptions {
  /** Storages that cannot protect blobs reject with `INVALID_ARGUMENT`. */
  readonly retention?: BlobRetention | undefined
}

/**
 * The body of a blob: one piece, or pieces to be stored one after the other. The caller must not change the bytes
 * before `put` has settled, and may do so after.
 */
export type BlobData = Uint8Array | readonly Uint8Array[]

/**
 * A place that keeps named, immutable byte strings. The repository's safety rests on what it promises:
 *
 * - Atomic: a blob is there whole or not at all, whatever dies while it is put; a `put` over an existing blob
 *   shows either the old or the new bytes, never a mixture.
 * - Durable: what a settled `put` stored survives the death of the process and of the machine.
 * - Read after write: as soon as `put` or `delete` has settled, every reader's `get`, `head` and `list` show it.
 * - Its clock: timestamps are given by the storage when it stores and do not run backwards by more than minutes.
 *
 * Every method may be called by many at once. All reject with `RepoError`: `BLOB_NOT_FOUND`, `INVALID_RANGE`,
 * `READ_ONLY`, `STORAGE_FULL`, `CANCELLED`, or `STORAGE_FAILED` for everything else that the storage did not do, with
 * `retryable` set where the same call may succeed later by itself. After a rejected `put` the blob may be there or not.
 */
export interface BlobStorage extends AsyncDisposable {
  /** Names kind and place for people, without credentials. */
  readonly description: string
  /**
   * The bytes of a blob or exactly the range asked for. Rejects with `BLOB_NOT_FOUND`, or with `INVALID_RANGE` when
   * the range does not lie in the blob (an empty range at its end does). The bytes belong to the caller.
   */
  get(id: BlobId, options?: GetBlobOptions): Promise<Uint8Array>
  /** Rejects with `BLOB_NOT_FOUND`. */
  head(id: BlobId, options?: BlobOptions): Promise<BlobMetadata>
  /** Stores a blob, replacing one of that name. */
  put(id: BlobId, data: BlobData, options?: PutBlobOptions): Promise<void>
  /**
   * Protects a blob that is there until the given time, as `put` with a retention does. Storages that cannot protect blobs
   * reject with `INVALID_ARGUMENT`.
   */
  retain(id: BlobId, retention: BlobRetention, options?: BlobOptions): Promise<void>
  /**
   * Removes a blob; one that is not there is success. A protected blob disappears too: its bytes stay with the storage as an
   * older version.
   */
  delete(id: BlobId, options?: BlobOptions): Promise<void>
  /**
   * Every blob whose id starts with the prefix (`''` for all), each once, in no promised order. Blobs stored or removed
   * while the listing runs may be in it or not. Names that are no blob ids are left out.
   */
  list(prefix: string, options?: BlobOptions): AsyncIterable<BlobMetadata>
}

/** The body as one piece; not copied when it is one already. */
export function joinedData(data: BlobData): Uint8Array {
  if (data instanceof Uint8Array) return data
  const [only] = data
  return data.length === 1 && only !== undefined ? only : Buffer.concat(data)
}

/** How many bytes a body has. */
export function dataLength(data: BlobData): number {
  if (data instanceof Uint8Array) return data.length
  let length = 0
  for (const piece of data) length += piece.length
  return length
}

/** Says that a storage holds no blob of that name. */
export function blobNotFound(id: BlobId, storage: string, cause?: unknown): RepoError {
  return new RepoError('BLOB_NOT_FOUND', {
    message: `Blob ${id} is not in ${storage}`,
    hint: 'Another program may have deleted it; refresh the index, or run verify to see what needs it.',
    blobId: id,
    cause,
  })
}

/** A range of a blob, as numbers. */
export interface BlobRange {
  readonly offset: number
  readonly length: number
}

/**
 * The range that options ask of a blob with `size` bytes. Throws `INVALID_RANGE` when it does not lie in the blob.
 */
export function rangeWithin(id: BlobId, size: number, options: GetBlobOptions): BlobRange {
  const offset = options.offset ?? 0
  const length = options.length ?? Math.max(0, size - offset)
  checkRange(id, { offset, length })
  if (offset + length > size) throw invalidRange(id, { offset, length }, `it has ${size} bytes`)
  return { offset, length }
}

/** Throws `INVALID_RANGE` for numbers that are a range of no blob. */
export function checkRange(id: BlobId, { offset = 0, length = 0 }: GetBlobOptions): void {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw invalidRange(id, { offset, length }, 'ranges are whole numbers from 0')
  }
}

/** Says that a range does not lie in a blob. */
export function invalidRange(id: BlobId, range: GetBlobOptions, reason: string): RepoError {
  const wanted = range.length === undefined ? 'the rest' : `${range.length} bytes`
  return new RepoError('INVALID_RANGE', {
    message: `Cannot read ${wanted} from offset ${range.offset ?? 0} of blob ${id}: ${reason}`,
    hint: 'The blob is shorter than its index says; run verify.',
    blobId: id,
  })
}

/** For storages that cannot protect blobs: throws `INVALID_ARGUMENT` when asked to. */
export function refuseRetention(id: BlobId, retention: BlobRetention | undefined, storage: string): void {
  if (retention === undefined) return
  throw new RepoError('INVALID_ARGUMENT', {
    message: `Cannot protect blob ${id} from deletion: ${storage} has no object lock`,
    hint: 'Use a bucket with object lock, or turn off retention for the repository.',
    blobId: id,
  })
}
