/** A program could not be brought onto this machine; the message says why and what to do. */
export class ToolError extends Error {
  readonly code: 'TOOL_UNAVAILABLE'
  readonly hint: string

  constructor(message: string, options: { hint: string; cause?: unknown }) {
    super(`${message}. ${options.hint}`, { cause: options.cause })
    this.name = 'ToolError'
    this.code = 'TOOL_UNAVAILABLE'
    this.hint = options.hint
  }
}
