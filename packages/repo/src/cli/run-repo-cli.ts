import { isRepoError } from '../errors/repo-error.ts'
import { type Surroundings, textFlag } from './command.ts'
import { commands } from './commands.ts'
import { errorLine } from './error-line.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { commandHelp, programHelp } from './help.ts'
import { commandOutput } from './output.ts'
import { parseCommandLine } from './parse-command-line.ts'
import { usageError } from './usage-error.ts'

export { systemClock } from '../clock/clock.ts'
export type { Surroundings } from './command.ts'

/**
 * Runs one command line of `lateen-repo` and resolves to the exit code. Never throws: an error is one line on
 * stderr.
 */
export async function runRepoCli(words: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    const line = parseCommandLine(words, commands)
    if (line.kind === 'help') {
      surroundings.stdout.write(
        line.command === undefined ? programHelp(commands) : commandHelp(line.command),
      )
      return exitCodes.ok.code
    }
    const { command, args, flags } = line
    const output = commandOutput(surroundings, { json: flags.json === true, quiet: flags.quiet === true })
    const run = await command.load()
    return await run({ args, flags, output, surroundings: actingAs(surroundings, textFlag(flags, 'client')) })
  } catch (error) {
    surroundings.stderr.write(errorLine(error))
    if (surroundings.signal.aborted) return exitCodes.interrupted.code
    return isRepoError(error) ? exitCodeOf(error.code) : exitCodes.failed.code
  }
}

function actingAs(surroundings: Surroundings, client: string | undefined): Surroundings {
  if (client === undefined) return surroundings
  const [, userName, host] = /^([^@]+)@([^@]+)$/.exec(client) ?? []
  if (userName === undefined || host === undefined)
    throw usageError(`"${client}" is no client`, 'write USER@HOST')
  return { ...surroundings, userName, host }
}
