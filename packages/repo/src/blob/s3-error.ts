import { isRepoError, RepoError, type RepoErrorCode } from '../errors/repo-error.ts'

/** What was asked of the bucket when it refused. */
export interface S3Operation {
  /** In the words of a sentence: "write blob p123". */
  readonly doing: string
  /** `s3://bucket/prefix`. */
  readonly place: string
  readonly writing: boolean
  readonly blobId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

interface Explanation {
  readonly code: RepoErrorCode
  readonly reason?: string
  readonly hint: string
  readonly retryable: boolean
}

const badCredentials: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'the credentials are not accepted',
  hint: 'Check the access key, the secret and, for temporary ones, that they have not expired.',
  retryable: false,
}

const denied: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'access is denied',
  hint: 'The credentials need s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject on the bucket and prefix.',
  retryable: false,
}

const full: Explanation = {
  code: 'STORAGE_FULL',
  reason: 'no space is left',
  hint: 'Free space or raise the quota, then run the same again.',
  retryable: false,
}

const clockSkew: Explanation = {
  code: 'CLOCK_SKEW',
  reason: "this machine's clock and the server's are too far apart",
  hint: 'Set the clock (NTP).',
  retryable: true,
}

const transient: Explanation = {
  code: 'STORAGE_FAILED',
  hint: 'This passes by itself as a rule; check network and server when it lasts.',
  retryable: true,
}

// Whatever status came before: of an answer that ends in the middle nothing can be believed.
const cutOff: Explanation = { ...transient, reason: 'the connection was cut' }

const untrusted: Explanation = {
  code: 'STORAGE_FAILED',
  reason: "the server's certificate is not trusted",
  hint: 'Give the certificate of its authority.',
  retryable: false,
}

const nobodyThere: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'nothing answers at the endpoint',
  hint: 'Check the endpoint and its port, and that the server runs.',
  retryable: true,
}

const unknownHost: Explanation = {
  code: 'STORAGE_FAILED',
  reason: "the name of the server's host is not known",
  hint: 'Check the endpoint, the region and the name service of this machine.',
  retryable: true,
}

const notTls: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'the server does not speak TLS',
  hint: 'Write the endpoint with http:// if that is meant.',
  retryable: false,
}

const noObjectLock: Explanation = {
  code: 'INVALID_ARGUMENT',
  reason: 'the bucket has no object lock',
  hint: 'Use a bucket with object lock, or turn off retention for the repository.',
  retryable: false,
}

const permanent: Explanation = {
  code: 'STORAGE_FAILED',
  hint: 'Check endpoint, region, bucket and whether the server wants path-style addresses.',
  retryable: false,
}

const byName: Readonly<Record<string, Explanation>> = {
  NoSuchBucket: {
    code: 'STORAGE_FAILED',
    reason: 'the bucket does not exist',
    hint: 'Create the bucket, or correct its name or the endpoint.',
    retryable: false,
  },
  AccessDenied: denied,
  AllAccessDisabled: denied,
  InvalidAccessKeyId: badCredentials,
  XAdminUserNotFound: badCredentials,
  SignatureDoesNotMatch: badCredentials,
  ExpiredToken: badCredentials,
  ExpiredTokenException: badCredentials,
  InvalidToken: badCredentials,
  CredentialsProviderError: badCredentials,
  RequestTimeTooSkewed: clockSkew,
  RequestExpired: clockSkew,
  ObjectLockConfigurationNotFoundError: noObjectLock,
  InvalidBucketObjectLockConfiguration: noObjectLock,
  QuotaExceeded: full,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  StorageFull: full,
  InsufficientStorage: full,
  // The request was damaged or cut off on its way; the next try sends it again.
  BadDigest: transient,
  IncompleteBody: transient,
  RequestTimeout: transient,
  XAmzContentSHA256Mismatch: transient,
  OperationAborted: transient,
  TimeoutError: transient,
  SlowDown: transient,
  ECONNRESET: cutOff,
  EPIPE: cutOff,
  ECONNREFUSED: nobodyThere,
  EHOSTUNREACH: nobodyThere,
  ENETUNREACH: nobodyThere,
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  EPROTO: notTls,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  CERT_HAS_EXPIRED: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
}

/** An error of the SDK or the network as one of ours; ours pass unchanged. */
export function s3Error(error: unknown, operation: S3Operation): RepoError {
  if (isRepoError(error)) return error
  const { doing, place, blobId, signal } = operation
  if (signal?.aborted) {
    return new RepoError('CANCELLED', {
      message: `Stopped: ${doing} in ${place}`,
      cause: signal.reason,
      blobId,
    })
  }
  const { code, reason = messageOf(error), hint, retryable } = explanationOf(error, operation)
  return new RepoError(code, {
    message: `Cannot ${doing} in ${place}: ${reason}`,
    hint,
    retryable,
    cause: error,
    blobId,
  })
}

/** The status of the answer that an error stands for; undefined when none came. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  const { $metadata }: Error & { $metadata?: { httpStatusCode?: number } } = error
  return $metadata?.httpStatusCode
}

// An answer to HEAD has no body, so that the SDK makes up a name.
const missingObjectNames: ReadonlySet<string> = new Set([
  'NoSuchKey',
  'NotFound',
  'UnknownError',
  'Unknown',
  '404',
])

/** Whether an answer says that there is no such object, and not that something else is missing, such as bucket or access key. */
export function isMissingObject(error: unknown): boolean {
  return statusOf(error) === 404 && error instanceof Error && missingObjectNames.has(error.name)
}

function explanationOf(error: unknown, { writing }: S3Operation): Explanation {
  const named = namesOf(error)
    .map(name => byName[name])
    .find(explanation => explanation !== undefined)
  const explanation = named ?? byStatus(statusOf(error))
  if (explanation === denied && writing) return { ...denied, code: 'READ_ONLY' }
  return explanation
}

function byStatus(status: number | undefined): Explanation {
  if (status === undefined) return transient
  if (status === 401 || status === 403) return denied
  if (status === 507) return full
  // A success that the SDK could not make sense of was cut short.
  return status < 400 || status === 408 || status === 429 || status >= 500 ? transient : permanent
}

/** SDK errors carry S3's code as name, those of the network theirs as code, sometimes one level down. */
function namesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const { code }: Error & { code?: unknown } = error
  return [error.name, ...(typeof code === 'string' ? [code] : []), ...namesOf(error.cause)]
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const status = statusOf(error)
  const name = error.name === 'Error' ? '' : `${error.name}: `
  return `${name}${error.message || 'no reason given'}${status === undefined ? '' : ` (HTTP ${status})`}`
}
