/** Why volume data cannot be moved. */
export type DataPathErrorCode =
  | 'INVALID_CONFIG'
  | 'NO_NODE_AGENT'
  | 'VOLUME_NOT_FOUND'
  | 'VOLUME_UNSUPPORTED'
  | 'POD_NOT_FOUND'
  | 'NOT_STARTED'
  | 'NAME_TAKEN'
  | 'SNAPSHOT_LOST'
  | 'TARGET_UNUSABLE'
  | 'REBIND_FAILED'

/** A failure on the way between a volume and a repository. The message says what to do. */
export class DataPathError extends Error {
  override readonly name = 'DataPathError'
  readonly code: DataPathErrorCode
  readonly hint: string

  constructor(code: DataPathErrorCode, details: { reason: string; hint: string; cause?: unknown }) {
    super(`${details.reason}. ${details.hint}`, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}
