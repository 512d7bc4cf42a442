/** The list of components cannot be made. */
export class SbomError extends Error {
  readonly code = 'SBOM_INCOMPLETE'
  readonly hint: string
  override name = 'SbomError'

  constructor(message: string, hint: string, cause?: unknown) {
    super(`${message}: ${hint}`, { cause })
    this.hint = hint
  }
}
