/** Why a command line could not be carried out. */
export type CliErrorCode =
  | 'USAGE'
  | 'CONFIG'
  | 'FILE'
  | 'NOT_FOUND'
  /** The cluster does not know the kind of object. */
  | 'NO_KIND'
  | 'EXISTS'
  | 'REFUSED'
  | 'TIMEOUT'
  | 'PARTIAL'
  | 'UNREACHABLE'
  | 'DOWNLOAD'
  /** The object store does not have the file. */
  | 'NO_FILE'

/**
 * A failure that a person can act on. The message names the thing and the reason, `hint` the remedy; together they are
 * the one line that is printed.
 */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: CliErrorCode
  readonly hint: string | undefined

  constructor(code: CliErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
  }
}
