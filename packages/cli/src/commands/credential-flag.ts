import { CliError } from '../cli-error.ts'

/** The secret and key of `--credential SECRET=KEY`; undefined when absent. Throws a CliError for more than one pair. */
export function credentialOf(
  flag: Readonly<Record<string, string>>,
): { name: string; key: string } | undefined {
  const [pair, ...more] = Object.entries(flag)
  if (pair === undefined) return undefined
  if (more.length > 0)
    throw new CliError('USAGE', '--credential takes one SECRET=KEY pair, and several were given')
  const [name, key] = pair
  if (name === '' || key === '') {
    throw new CliError('USAGE', `--credential must look like SECRET=KEY, and "${name}=${key}" does not`)
  }
  return { name, key }
}
