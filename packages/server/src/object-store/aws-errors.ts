import { isObjectStoreError, ObjectStoreError, type ObjectStoreErrorCode } from '@lateen/plugin'

/** What a request was about, for the sentence that reports its failure. */
export interface RequestTarget {
  /** `http://host:port`, or a phrase for Amazon's own. */
  endpoint: string
  bucket: string
  key?: string | undefined
}

interface Meaning {
  code: ObjectStoreErrorCode
  reason: (target: RequestTarget) => string
  hint?: string
}

const bucketAt = ({ bucket, endpoint }: RequestTarget) => `bucket ${JSON.stringify(bucket)} at ${endpoint}`

const noBucket: Meaning = {
  code: 'NO_BUCKET',
  reason: ({ bucket, endpoint }) => `the bucket ${JSON.stringify(bucket)} does not exist at ${endpoint}`,
  hint: 'Create it, or correct spec.objectStorage.bucket, config.region or config.s3Url',
}
const notFound: Meaning = {
  code: 'NOT_FOUND',
  reason: target => `there is no object ${target.key ?? ''} in ${bucketAt(target)}`,
}
const denied: Meaning = {
  code: 'ACCESS_DENIED',
  reason: target => `access to ${bucketAt(target)} is denied`,
  hint: 'Allow the credentials to list the bucket and to get, put and delete objects in it, and check that they are the right ones',
}
const wrongKeyId: Meaning = {
  code: 'BAD_CREDENTIALS',
  reason: ({ endpoint }) => `the access key id is not known at ${endpoint}`,
  hint: 'Correct aws_access_key_id in the credentials of the location',
}
const wrongSecret: Meaning = {
  code: 'BAD_CREDENTIALS',
  reason: ({ endpoint }) => `the secret access key does not belong to the access key id at ${endpoint}`,
  hint: 'Correct aws_secret_access_key in the credentials of the location',
}
const expiredToken: Meaning = {
  code: 'BAD_CREDENTIALS',
  reason: ({ endpoint }) => `the session token was refused at ${endpoint}`,
  hint: 'Renew the credentials of the location',
}
const clockSkew: Meaning = {
  code: 'CLOCK_SKEW',
  reason: ({ endpoint }) => `the clocks of this machine and of ${endpoint} are too far apart`,
  hint: 'Synchronise both with NTP',
}
const wrongRegion: Meaning = {
  code: 'INVALID_CONFIG',
  reason: ({ bucket, endpoint }) =>
    `the bucket ${JSON.stringify(bucket)} is in another region than the one asked at ${endpoint}`,
  hint: "Set config.region to the bucket's region",
}
const busy: Meaning = {
  code: 'STORE_FAULT',
  reason: ({ endpoint }) => `${endpoint} asks to be left alone for a while`,
  hint: 'It is tried again; if it stays so, look at its load and limits',
}
const untrusted: Meaning = {
  code: 'TLS',
  reason: ({ endpoint }) => `the certificate of ${endpoint} is signed by nobody trusted here`,
  hint: 'Put the CA certificate into spec.objectStorage.caCert or caCertRef',
}
const unresolved: Meaning = {
  code: 'UNREACHABLE',
  reason: ({ endpoint }) => `the host name of ${endpoint} cannot be resolved`,
  hint: 'Correct config.s3Url or config.region, or check DNS from where the server runs',
}
const unreachable: Meaning = {
  code: 'UNREACHABLE',
  reason: ({ endpoint }) => `there is no network route to ${endpoint}`,
  hint: 'Check the network and firewalls between the server and it',
}
const cut: Meaning = {
  code: 'UNREACHABLE',
  reason: ({ endpoint }) => `${endpoint} closed the connection`,
  hint: 'Check that it speaks S3, and http:// against https:// in config.s3Url',
}
const silent: Meaning = {
  code: 'TIMEOUT',
  reason: ({ endpoint }) => `${endpoint} did not answer in time`,
  hint: 'Check that it is up, and the network and firewalls between the server and it',
}

/** By the error code of S3, the name of an SDK error, or the code of a socket error. */
const meanings: Readonly<Record<string, Meaning>> = {
  NoSuchBucket: noBucket,
  NoSuchKey: notFound,
  AccessDenied: denied,
  AllAccessDisabled: denied,
  AccountProblem: denied,
  InvalidAccessKeyId: wrongKeyId,
  InvalidClientTokenId: wrongKeyId,
  UnrecognizedClientException: wrongKeyId,
  // versitygw's name for it.
  XAdminUserNotFound: wrongKeyId,
  SignatureDoesNotMatch: wrongSecret,
  ExpiredToken: expiredToken,
  InvalidToken: expiredToken,
  TokenRefreshRequired: expiredToken,
  RequestTimeTooSkewed: clockSkew,
  RequestExpired: clockSkew,
  PermanentRedirect: wrongRegion,
  AuthorizationHeaderMalformed: wrongRegion,
  IllegalLocationConstraintException: wrongRegion,
  SlowDown: busy,
  ServiceUnavailable: busy,
  TooManyRequests: busy,
  RequestTimeout: silent,
  TimeoutError: silent,
  QuotaExceeded: {
    code: 'FULL',
    reason: target => `the quota of ${bucketAt(target)} is used up`,
    hint: 'Enlarge it or delete old backups',
  },
  InvalidBucketName: {
    code: 'INVALID_CONFIG',
    reason: ({ bucket, endpoint }) => `${JSON.stringify(bucket)} is not a bucket name at ${endpoint}`,
    hint: 'Correct spec.objectStorage.bucket',
  },
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_HAS_EXPIRED: {
    code: 'TLS',
    reason: ({ endpoint }) => `the certificate of ${endpoint} has expired`,
    hint: 'Renew it',
  },
  CERT_NOT_YET_VALID: {
    code: 'TLS',
    reason: ({ endpoint }) => `the certificate of ${endpoint} is not valid yet`,
    hint: "Check the certificate and this machine's clock",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    code: 'TLS',
    reason: ({ endpoint }) => `the certificate of ${endpoint} is for another name`,
    hint: 'Use the name in the certificate in config.s3Url, or issue one for the name used',
  },
  EPROTO: {
    code: 'TLS',
    reason: ({ endpoint }) => `${endpoint} does not speak TLS as this server does`,
    hint: 'Check http:// against https:// in config.s3Url, and its TLS versions',
  },
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  ECONNREFUSED: {
    code: 'UNREACHABLE',
    reason: ({ endpoint }) => `nothing listens at ${endpoint}`,
    hint: 'Check that it is up, and host and port in config.s3Url',
  },
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  ECONNRESET: cut,
  EPIPE: cut,
  ETIMEDOUT: silent,
  ESOCKETTIMEDOUT: silent,
}

/** HEAD answers carry no error code, so their status has to do. */
function meaningOfStatus(status: number | undefined, target: RequestTarget): Meaning | undefined {
  if (status === 404) return target.key === undefined ? noBucket : notFound
  if (status === 403 || status === 401) return denied
  if (status === 301) return wrongRegion
  if (status === 429 || status === 503) return busy
  if (status === undefined || status < 500) return undefined
  return {
    code: 'STORE_FAULT',
    reason: ({ endpoint }) => `${endpoint} failed with status ${status}`,
    hint: 'It is tried again; if it stays so, look into its log',
  }
}

/**
 * What a failed request means, as an `ObjectStoreError` whose message is the same each time the cause is. It names no user or password
 * of an address, and has no cause that does: causes are logged with it. Errors that already are one pass through.
 */
export function awsError(error: unknown, target: RequestTarget): ObjectStoreError {
  if (isObjectStoreError(error)) return error
  const { names, message, status, hasUser } = traitsOf(error)
  const cause = hasUser ? {} : { cause: error }
  if (names.some(name => name === 'CredentialsProviderError' || name === 'ProviderError')) {
    return new ObjectStoreError('BAD_CREDENTIALS', {
      reason: `no credentials for ${bucketAt(target)}: ${firstLine(message)}`,
      hint: 'Name a secret with aws_access_key_id and aws_secret_access_key in spec.credential, or give the server an identity of its own',
      ...cause,
    })
  }
  const named = names.flatMap(name => meanings[name] ?? [])[0]
  const meaning = named ?? meaningOfStatus(status, target)
  if (meaning === undefined) {
    return new ObjectStoreError('UNKNOWN', {
      reason: `${bucketAt(target)} cannot be used: ${clipped(names[0] ?? 'Error')}: ${firstLine(message)}`,
      ...cause,
    })
  }
  const hint = meaning.hint === undefined ? {} : { hint: meaning.hint }
  return new ObjectStoreError(meaning.code, { reason: meaning.reason(target), ...cause, ...hint })
}

/** What comes after it is not looked at. */
const LONGEST_MESSAGE = 10_000

interface Traits {
  /** Everything that may identify the error, the most specific first, its causes after it. */
  names: string[]
  message: string
  status: number | undefined
  /** Whether it or a cause names the user of an address, as Node does that of a proxy it cannot read. */
  hasUser: boolean
}

type SdkError = Error & {
  code?: unknown
  Code?: unknown
  errors?: unknown
  $metadata?: { httpStatusCode?: number }
}

function traitsOf(error: unknown): Traits {
  const names: string[] = []
  let status: number | undefined
  let hasUser = false
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const fields: SdkError = at
    for (const name of [fields.code, fields.Code, at.name]) if (typeof name === 'string') names.push(name)
    // Connecting to a name with several addresses fails with one error for each.
    if (Array.isArray(fields.errors)) names.push(...fields.errors.flatMap(inner => traitsOf(inner).names))
    status ??= fields.$metadata?.httpStatusCode
    hasUser ||= withoutUsers(at.message) !== at.message.slice(0, LONGEST_MESSAGE)
  }
  return { names, message: error instanceof Error ? error.message : String(error), status, hasUser }
}

function firstLine(message: string): string {
  return clipped(withoutUsers(message.split('\n', 1)[0] ?? '')).replace(/\.$/, '')
}

/**
 * A password may hold a `#` or a `/` that should have been escaped: it ends at the last `@` there is. The lengths are bounded because it
 * may be the other side that speaks.
 */
function withoutUsers(text: string): string {
  return text
    .slice(0, LONGEST_MESSAGE)
    .replace(/:\/\/(?:[^\s"/?#:@]{0,200}:[^\s"]{0,1000}|[^\s"/?#@]{1,1000})@/g, '://<left out>@')
}

/** What the other side says becomes part of the location: it may be anybody who listens at the address. */
function clipped(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
