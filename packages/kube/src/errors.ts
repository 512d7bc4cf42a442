/**
 * Failures this package finds out by itself. Answers of the API server carry the server's own `reason`
 * (`NotFound`, `Conflict`, `Invalid`, …) as their code instead.
 */
export type ClientErrorCode =
  | 'Unreachable'
  | 'ConnectionLost'
  | 'TimedOut'
  | 'CertificateUntrusted'
  | 'CertificateExpired'
  | 'CertificateNameMismatch'
  | 'ClientCertificateRejected'
  | 'TlsFailed'
  | 'BodyCut'
  | 'BodyMalformed'
  | 'ListUnordered'
  | 'ConfigNotFound'
  | 'ConfigInvalid'
  | 'CredentialFailed'
  | 'NamespaceRequired'
  | 'NameRequired'
  | 'UnknownKind'
  | 'ClientClosed'
  | 'StreamFailed'

/** One field the server found fault with, or one other cause it named. */
export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}

/** The `details` of a Kubernetes Status. */
export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}

export interface KubeErrorOptions {
  message: string
  /** HTTP status, where there was an answer. */
  status?: number | undefined
  details?: StatusDetails | undefined
  /** What a person can do about it. */
  hint?: string | undefined
  /** The same request may succeed later without anything being changed. */
  retryable?: boolean
  /** Whether the server may have carried the request out although it failed for us. */
  mayHaveActed?: boolean
  /** How long the server asked us to wait. */
  retryAfterMs?: number | undefined
  /** A list's fresh continue token, sent along with 410. */
  continueToken?: string | undefined
  cause?: unknown
}

/** Anything that goes wrong between us and the API server, as data. */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** The server's `reason`, or a `ClientErrorCode`. */
  readonly code: string
  readonly status: number | undefined
  readonly details: StatusDetails | undefined
  readonly hint: string | undefined
  readonly retryable: boolean
  readonly mayHaveActed: boolean
  readonly retryAfterMs: number | undefined
  readonly continueToken: string | undefined

  constructor(code: string, options: KubeErrorOptions) {
    super(options.message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.status = options.status
    this.details = options.details
    this.hint = options.hint
    this.retryable = options.retryable ?? false
    this.mayHaveActed = options.mayHaveActed ?? false
    this.retryAfterMs = options.retryAfterMs
    this.continueToken = options.continueToken
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof KubeError && codes.includes(error.code)
}

/** The object (or the kind) does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasCode(error, 'NotFound')
}

/** For `catch`: undefined in the place of what does not exist; throws every other error. */
export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error
}

/** A write was based on an old version, or a precondition did not hold. */
export function isConflict(error: unknown): boolean {
  return hasCode(error, 'Conflict')
}

/** For `catch`: undefined in the place of what does not exist any more, or is not as it was; throws every other error. */
export function unlessChanged(error: unknown): undefined {
  if (!isNotFound(error) && !isConflict(error)) throw error
}

/** For `catch` of a list: none where there is no such kind, or it must not be seen; throws every other error. */
export function noneIfUnseen(error: unknown): [] {
  if (isNotFound(error) || isForbidden(error)) return []
  throw error
}

/** A create met an object of that name. */
export function isAlreadyExists(error: unknown): boolean {
  return hasCode(error, 'AlreadyExists')
}

/** The version asked for was compacted away: list again, then watch from there. */
export function isGone(error: unknown): boolean {
  return hasCode(error, 'Expired', 'Gone') || (error instanceof KubeError && error.status === 410)
}

/** We are known to the server and may not do this. */
export function isForbidden(error: unknown): boolean {
  return hasCode(error, 'Forbidden')
}

/** The words of a role's refusal; a quota or an admission plugin that forbids something uses others. */
const lacksRight = /" cannot \S+ (resource|path) "/

/** What an error says; and where it comes from a right that we lack, how to get it. For reports, which show nothing but a text. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message } = error
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof KubeError) || !isForbidden(cause) || !lacksRight.test(cause.message)) continue
    const { hint = '' } = cause
    return message.includes(hint) ? message : `${message}; ${hint}`
  }
  return message
}

/** The server does not accept who we say we are. */
export function isUnauthorized(error: unknown): boolean {
  return hasCode(error, 'Unauthorized')
}

/** The object does not fit its schema; `details.causes` names the fields. */
export function isInvalid(error: unknown): boolean {
  return hasCode(error, 'Invalid')
}

/** The same request may succeed later: throttling, server faults, lost connections. */
export function isRetryable(error: unknown): boolean {
  return error instanceof KubeError && error.retryable
}
