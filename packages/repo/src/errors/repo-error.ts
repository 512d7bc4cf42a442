/** Every way the repository engine fails, as a stable word that callers and exit codes may depend on. */
export type RepoErrorCode =
  | 'ALREADY_EXISTS'
  | 'BAD_PASSWORD'
  | 'BLOB_NOT_FOUND'
  | 'CANCELLED'
  | 'CLOCK_SKEW'
  | 'CONTENT_NOT_FOUND'
  | 'CORRUPT'
  | 'INVALID_ARGUMENT'
  | 'INVALID_RANGE'
  | 'LOCKED'
  | 'MANIFEST_NOT_FOUND'
  | 'NOT_A_REPOSITORY'
  | 'NOT_OWNER'
  | 'OBJECT_NOT_FOUND'
  | 'READ_ONLY'
  | 'SOURCE_FAILED'
  | 'STORAGE_FAILED'
  | 'STORAGE_FULL'
  | 'TARGET_FAILED'
  | 'TOOL_FAILED'
  | 'UNSAFE_PATH'
  | 'UNSUPPORTED_FORMAT'

/** The things an error is about; every field is optional and none holds a secret. */
export interface RepoErrorIds {
  blobId?: string | undefined
  contentId?: string | undefined
  objectId?: string | undefined
  manifestId?: string | undefined
  snapshotId?: string | undefined
  path?: string | undefined
}

/** What `RepoError` is made of besides its code. */
export interface RepoErrorDetails extends RepoErrorIds {
  /** Names the thing and the reason. */
  message: string
  /** What the reader can do about it. */
  hint?: string | undefined
  cause?: unknown
  /** True when the same call may succeed later without anybody acting. */
  retryable?: boolean | undefined
}

/** The one error class of the engine: `code` for programs, `message` and `hint` for people, ids for both. */
export class RepoError extends Error {
  override readonly name = 'RepoError'
  readonly code: RepoErrorCode
  readonly hint: string | undefined
  readonly retryable: boolean
  readonly blobId: string | undefined
  readonly contentId: string | undefined
  readonly objectId: string | undefined
  readonly manifestId: string | undefined
  readonly snapshotId: string | undefined
  readonly path: string | undefined

  constructor(code: RepoErrorCode, details: RepoErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.retryable = details.retryable ?? false
    this.blobId = details.blobId
    this.contentId = details.contentId
    this.objectId = details.objectId
    this.manifestId = details.manifestId
    this.snapshotId = details.snapshotId
    this.path = details.path
  }
}

/** True for a `RepoError`, and when `code` is given only for one of that code. */
export function isRepoError(error: unknown, code?: RepoErrorCode): error is RepoError {
  return error instanceof RepoError && (code === undefined || error.code === code)
}

/** A `CORRUPT` error; `message` names the thing and what is wrong with its bytes. */
export function corrupt(message: string, details: Omit<RepoErrorDetails, 'message'> = {}): RepoError {
  return new RepoError('CORRUPT', { message, ...details })
}

/** Throws `CANCELLED` when the signal is aborted, with the signal's reason as cause. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) {
    throw new RepoError('CANCELLED', { message: 'The operation was cancelled', cause: signal.reason })
  }
}
