/** A step of the quickstart that did not work. */
export class QuickstartError extends Error {
  override readonly name = 'QuickstartError'
  readonly code = 'QUICKSTART_FAILED'
  readonly hint: string

  constructor(message: string, options: ErrorOptions & { hint: string }) {
    super(`${message}. ${options.hint}`, options)
    this.hint = options.hint
  }
}
