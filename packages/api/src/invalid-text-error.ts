/** Text that should have had a certain form and does not. */
export class InvalidTextError extends Error {
  override readonly name = 'InvalidTextError'
  readonly code: 'INVALID_DURATION' | 'INVALID_TIME'
  /** What to write instead. */
  readonly hint: string

  constructor(code: InvalidTextError['code'], message: string, hint: string) {
    super(`${message}; ${hint}`)
    this.code = code
    this.hint = hint
  }
}
