import { parseArgs } from 'node:util'
import type { Command, Flag, FlagValues } from './command.ts'
import { globalFlags } from './flags.ts'
import { usageError } from './usage-error.ts'

/** What a command line asks for. */
export type CommandLine =
  | { readonly kind: 'help'; readonly command: Command | undefined }
  | {
      readonly kind: 'run'
      readonly command: Command
      readonly args: readonly string[]
      readonly flags: FlagValues
    }

/**
 * Finds the command, whose name may be two words, and reads its flags and arguments. Throws
 * `INVALID_ARGUMENT`.
 */
export function parseCommandLine(words: readonly string[], commands: readonly Command[]): CommandLine {
  const command = commands.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
  if (command === undefined) return withoutCommand(words, commands)
  const rest = words.slice(command.name.split(' ').length)
  const { values, positionals } = parseFlags(rest, { ...globalFlags, ...command.flags })
  if (values.help) return { kind: 'help', command }
  requireCount(command, positionals)
  return { kind: 'run', command, args: positionals, flags: values }
}

function withoutCommand(words: readonly string[], commands: readonly Command[]): CommandLine {
  const [word] = words
  if (word === undefined || word === 'help' || words.includes('--help'))
    return { kind: 'help', command: undefined }
  if (word.startsWith('-')) throw usageError('flags come after the command')
  const group = commands.filter(({ name }) => name.startsWith(`${word} `)).map(({ name }) => name)
  throw group.length > 0
    ? usageError(`"${word}" is half a command`, `there is ${group.join(', ')}`)
    : usageError(`there is no command "${word}"`, 'lateen-repo --help lists them')
}

function parseFlags(
  words: readonly string[],
  flags: Record<string, Flag>,
): { values: FlagValues; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true })
  } catch (error) {
    // Node's messages go on with advice about its own syntax after the first sentence.
    throw usageError((error as Error).message.replace(/\. .*$/s, '').replace(/^Unknown/, 'unknown'))
  }
}

function requireCount({ name, usage, takes: [least, most] }: Command, args: readonly string[]): void {
  if (args.length >= least && args.length <= most) return
  const problem = args.length < least ? 'needs more arguments' : 'takes fewer arguments'
  throw usageError(`${name} ${problem}`, `lateen-repo ${name} ${usage}`.trim())
}
