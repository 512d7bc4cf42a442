import { CliError } from '../cli-error.ts'
import { parseBoolean } from '../parse/boolean.ts'

/** The value of `--skip-immediately`; undefined when it is absent or empty. Throws a CliError for other texts. */
export function skipImmediatelyOf(text: string | undefined): boolean | undefined {
  if (!text) return undefined
  const value = parseBoolean(text)
  if (value !== undefined) return value
  throw new CliError('USAGE', `--skip-immediately must be true or false, and ${JSON.stringify(text)} is not`)
}
