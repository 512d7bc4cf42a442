import { CliError } from '../cli-error.ts'

/** Throws the failures of a command that went on after each: a single one as it is, several in one CliError. */
export function throwFailures(failures: readonly unknown[], what: string): void {
  const [first, ...more] = failures
  if (first === undefined) return
  if (more.length === 0) throw first
  const messages = failures.map(failure => (failure instanceof Error ? failure.message : String(failure)))
  throw new CliError('PARTIAL', `${failures.length} ${what} failed: ${messages.join('; ')}`, { cause: first })
}
