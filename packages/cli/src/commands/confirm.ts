import { createInterface } from 'node:readline'
import { CliError } from '../cli-error.ts'
import type { Surroundings } from '../tree/command.ts'

/** Asks until the answer is y or n. Throws a CliError when the input ends without one; it names the flag that spares the question. */
export async function confirm(
  { stdin, stdout, signal }: Surroundings,
  { flag = '--confirm' }: { flag?: string } = {},
): Promise<boolean> {
  const question = 'Are you sure you want to continue (Y/N)? '
  const lines = createInterface({ input: stdin, signal })
  try {
    stdout.write(question)
    for await (const line of lines) {
      const answer = line.trim().toLowerCase()
      if (answer === 'y') return true
      if (answer === 'n') return false
      stdout.write(question)
    }
  } finally {
    lines.close()
  }
  signal.throwIfAborted()
  stdout.write('\n')
  throw new CliError(
    'REFUSED',
    'nothing was done, because the input ended before the question was answered',
    {
      hint: `add ${flag} to go ahead without being asked`,
    },
  )
}
