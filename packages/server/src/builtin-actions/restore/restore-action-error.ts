export type RestoreActionErrorCode =
  | 'PLUGIN_CONFIG_AMBIGUOUS'
  | 'STORAGE_CLASS_UNREADABLE'
  | 'ITEM_MALFORMED'
  | 'IMAGE_UNKNOWN'

/** Why a built-in action could not prepare an object. The object is not restored. */
export class RestoreActionError extends Error {
  override readonly name = 'RestoreActionError'
  readonly code: RestoreActionErrorCode
  readonly hint: string

  constructor(code: RestoreActionErrorCode, message: string, details: { hint: string; cause?: unknown }) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}
