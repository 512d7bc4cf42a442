/**
 * Every way an object store fails, and whether the same call may succeed later without anyone changing
 * anything. Codes are stable: callers branch on them, people search for them.
 */
export const objectStoreErrorCodes = {
  /** The object does not exist. */
  NOT_FOUND: { retryable: false },
  /** The bucket does not exist. */
  NO_BUCKET: { retryable: false },
  /** The credentials are known, but may not do this. */
  ACCESS_DENIED: { retryable: false },
  /** The credentials are missing, unknown or wrong. */
  BAD_CREDENTIALS: { retryable: false },
  /** This machine's clock and the store's are too far apart. */
  CLOCK_SKEW: { retryable: true },
  /** The store's certificate is not trusted or not valid. */
  TLS: { retryable: false },
  /** Name resolution or the connection failed. */
  UNREACHABLE: { retryable: true },
  /** The store was reached and did not answer in time. */
  TIMEOUT: { retryable: true },
  /** A setting is unknown, missing, malformed or contradicts another. */
  INVALID_CONFIG: { retryable: false },
  /** No space, or a quota is used up. */
  FULL: { retryable: true },
  /** The key (or what the key resolves to) is not one this store may touch. */
  UNSAFE_KEY: { retryable: false },
  /** The store answered with an error of its own (5xx, throttling). */
  STORE_FAULT: { retryable: true },
  /** The body that was to be stored, or the signal that was passed, ended the call. */
  ABORTED: { retryable: false },
  /** Anything that fits nowhere above. */
  UNKNOWN: { retryable: false },
} as const

export type ObjectStoreErrorCode = keyof typeof objectStoreErrorCodes

export interface ObjectStoreErrorDetails {
  /**
   * What failed and why, naming the bucket, key, path or setting. Constant for a constant cause: no request
   * ids, times or addresses that change from call to call, because it becomes a status message.
   */
  reason: string
  /** What a person can do about it, as a sentence without its final period. */
  hint?: string
  cause?: unknown
  /** Defaults to what `objectStoreErrorCodes` says. */
  retryable?: boolean
}

/** What every method of an `ObjectStore` rejects with. Its message is the reason followed by the hint. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError'
  readonly code: ObjectStoreErrorCode
  readonly hint: string | undefined
  readonly retryable: boolean

  constructor(code: ObjectStoreErrorCode, details: ObjectStoreErrorDetails) {
    const { reason, hint, cause } = details
    super(hint === undefined ? reason : `${reason}. ${hint}`, cause === undefined ? {} : { cause })
    this.code = code
    this.hint = hint
    this.retryable = details.retryable ?? objectStoreErrorCodes[code].retryable
  }
}

/** True for an `ObjectStoreError`, of the given code if one is given. Works across copies of this package. */
export function isObjectStoreError(error: unknown, code?: ObjectStoreErrorCode): error is ObjectStoreError {
  if (!(error instanceof Error) || error.name !== 'ObjectStoreError' || !('code' in error)) return false
  return code === undefined || error.code === code
}
