import { readFile } from 'node:fs/promises'
import { CliError } from '../cli-error.ts'

/** The bytes of a file named by a flag. Throws a CliError that names both when it cannot be read. */
export async function readFileFlag(flag: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (cause) {
    throw new CliError('FILE', `--${flag} names ${file}, which cannot be read: ${(cause as Error).message}`, {
      cause,
    })
  }
}
