/** The one line that tells a user what went wrong: the message, and the hint where the message does not hold it. */
export function errorLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : ''
  const text = hint === '' || message.includes(hint) ? message : `${message} (${hint})`
  return `An error occurred: ${text.trim().replace(/\s*[\r\n]+\s*/g, ' ')}`
}
