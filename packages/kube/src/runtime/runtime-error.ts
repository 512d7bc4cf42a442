/** The stable codes of the runtime's own errors. */
export type RuntimeErrorCode =
  | 'INFORMERS_NOT_SYNCED'
  | 'INFORMER_OPTIONS_DIFFER'
  | 'LEADERSHIP_LOST'
  | 'HTTP_LISTEN_FAILED'
  | 'ROUTE_TAKEN'
  | 'RECONCILE_TIMED_OUT'
  | 'STOP_TIMED_OUT'
  | 'ALREADY_RUNNING'

/** A failure of the runtime itself, as opposed to one of the API server or of a reconcile. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError'
  readonly code: RuntimeErrorCode
  readonly hint: string

  constructor(code: RuntimeErrorCode, message: string, details: { hint: string; cause?: unknown }) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }
}
