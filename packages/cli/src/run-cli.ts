import { connect } from './connect.ts'
import { calledAs, errorLine } from './output/error-line.ts'
import { columnsOf } from './output/paint.ts'
import { printResult } from './output/print-result.ts'
import { type CommandLine, parseCommandLine } from './parse/command-line.ts'
import type { CommandCall, Settings, Surroundings } from './tree/command.ts'
import type { FlagValues } from './tree/flag.ts'
import { globalFlags } from './tree/global-flags.ts'
import { commandTree } from './tree/root.ts'

/**
 * Carries out one command line and returns the exit code: 0, or the one of the command's result, or 1 after one line about
 * the failure on stderr.
 */
export async function runCli(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    if (argv[0]?.startsWith('__complete')) return await answerShell(argv, surroundings)
    const line = parseCommandLine(commandTree, globalFlags, argv)
    if (line.want === 'help') {
      const { renderHelp } = await import('./output/help.ts')
      const { stdout, program } = surroundings
      stdout.write(renderHelp(line.path, globalFlags, { program, columns: columnsOf(stdout) }))
      return 0
    }
    const call = await prepareCall(line, surroundings)
    const { run } = await line.command.load()
    return await printResult(await run(call), surroundings.stdout)
  } catch (error) {
    return report(error, surroundings)
  }
}

/** For completion scripts, ours and those that cobra makes. */
async function answerShell([name, ...words]: readonly string[], surroundings: Surroundings): Promise<number> {
  const { complete } = await import('./completion/complete.ts')
  const described = name !== '__completeNoDesc'
  surroundings.stdout.write(await complete(words, surroundings, { described }))
  return 0
}

async function prepareCall(
  line: Extract<CommandLine, { want: 'run' }>,
  surroundings: Surroundings,
): Promise<CommandCall> {
  const { readFlagValues } = await import('./parse/flag-values.ts')
  const globals = readFlagValues(globalFlags, line.given) as FlagValues<typeof globalFlags>
  let known: Promise<Settings> | undefined
  const settings = () => {
    known ??= readSettings(globals, surroundings)
    return known
  }
  return {
    args: line.args,
    flags: readFlagValues(line.command.flags, line.given) as CommandCall['flags'],
    given: new Set(line.given.keys()),
    surroundings,
    settings,
    connect: async () => connect(await settings(), surroundings),
  }
}

async function readSettings(
  flags: FlagValues<typeof globalFlags>,
  { env, home }: Surroundings,
): Promise<Settings> {
  const { readClientConfig } = await import('./settings/client-config.ts')
  const { settingsOf } = await import('./settings/settings.ts')
  return settingsOf({ flags, env, config: await readClientConfig(home) })
}

function report(error: unknown, { env, stderr, signal, program }: Surroundings): number {
  const abort = error === signal.reason || (error instanceof Error && error.name === 'AbortError')
  if (signal.aborted && abort) return 130
  stderr.write(`${calledAs(program, errorLine(error))}\n`)
  if (env.LATEEN_DEBUG && error instanceof Error) stderr.write(`${error.stack}\n`)
  return 1
}
