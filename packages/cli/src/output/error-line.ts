/** The one line that tells a user what went wrong: the message, and the hint where the message does not hold it. */
export function errorLine(error: unknown): string {
  return `An error occurred: ${errorReason(error)}`
}

/** The same without the words before it, for use inside another line. */
export function errorReason(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : ''
  const text = hint === '' || message.includes(hint) ? message : `${message} (${hint})`
  return text.trim().replace(/\s*[\r\n]+\s*/g, ' ')
}

/** A command line or a text about one, in which the program is called as it was. */
export function calledAs(program: string, text: string): string {
  return program === 'lateen' ? text : text.replace(/(^|['`(])lateen(?= )/g, `$1${program}`)
}
