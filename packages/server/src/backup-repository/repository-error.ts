/** Why a backup repository cannot be used. */
export type RepositoryErrorCode =
  | 'PROVIDER_UNSUPPORTED'
  | 'INVALID_LOCATION'
  | 'RESTIC_MISSING'
  | 'NOT_READY'
  | 'AMBIGUOUS'
  | 'INVALID_CONFIG'

/** A failure that has to do with where a repository is, not with what is in it. The message says what to do. */
export class RepositoryError extends Error {
  override readonly name = 'RepositoryError'
  readonly code: RepositoryErrorCode
  readonly hint: string

  constructor(code: RepositoryErrorCode, details: { reason: string; hint: string; cause?: unknown }) {
    super(`${details.reason}. ${details.hint}`, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}
