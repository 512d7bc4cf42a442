import { Command, CommanderError, Option } from 'commander'
import { CliError } from '../cli-error.ts'
import type { CommandSpec, LeafCommand } from '../tree/command.ts'
import { isGroup } from '../tree/command.ts'
import type { FlagSet } from '../tree/flag.ts'
import type { GivenFlags } from './flag-values.ts'
import { didYouMean } from './nearest-name.ts'
import { flagArity, normalizeArguments } from './normalize-arguments.ts'

/** What a command line asks for. `path` leads from the root to the command. */
export type CommandLine =
  | { readonly want: 'help'; readonly path: readonly CommandSpec[] }
  | {
      readonly want: 'run'
      readonly path: readonly CommandSpec[]
      readonly command: LeafCommand
      readonly args: readonly string[]
      readonly given: GivenFlags
    }

interface Selection {
  found: CommandLine | undefined
}

/** Finds the command and the texts of its flags. Throws a CliError (`USAGE`) for what the tree does not know. */
export function parseCommandLine(root: CommandSpec, globals: FlagSet, argv: readonly string[]): CommandLine {
  const selection: Selection = { found: undefined }
  const program = new LazyCommand(root.name)
  program.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} })
  addFlags(program, globals)
  addCommand(program, [root], selection)
  try {
    program.parse(normalizeArguments(argv, flagArity(root, globals)), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (!error.code.startsWith('commander.help')) throw usageError(error)
  }
  if (selection.found === undefined) throw new CliError('USAGE', 'no command was given')
  return selection.found
}

/** A command that learns its flags and commands when it is to read a command line. Most never are, and there are hundreds of flags. */
class LazyCommand extends Command {
  learn: (() => void) | undefined

  override createCommand(name?: string): LazyCommand {
    return new LazyCommand(name)
  }

  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    this.learn?.()
    this.learn = undefined
    return super.parseOptions(argv)
  }
}

function addCommand(target: LazyCommand, path: readonly CommandSpec[], selection: Selection): void {
  const spec = path.at(-1)
  if (spec === undefined) return
  target.helpOption('-h, --help').helpCommand(false)
  target.configureHelp({
    formatHelp: () => {
      selection.found = { want: 'help', path }
      return ''
    },
  })
  if (isGroup(spec)) {
    for (const child of spec.commands) {
      const sub = target.command(child.name, { hidden: child.hidden ?? false }).aliases(child.aliases ?? [])
      sub.learn = () => addCommand(sub, [...path, child], selection)
    }
    return
  }
  addFlags(target, spec.flags)
  target.argument('[arguments...]').action((args: string[]) => {
    checkCount(args, spec, path)
    selection.found = { want: 'run', path, command: spec, args, given: givenFlags(target.optsWithGlobals()) }
  })
}

function addFlags(target: Command, flags: FlagSet): void {
  for (const [name, spec] of Object.entries(flags)) {
    const dashes = spec.short === undefined ? `--${name}` : `-${spec.short}, --${name}`
    const option = new Option(`${dashes} <value>`)
    // Keyed by the flag's own name: commander would turn `access-mode` into `accessMode`.
    option.attributeName = () => name
    // A flag whose own name begins with `no-` is not the negation of another.
    option.negate = false
    option.hideHelp(spec.hidden ?? false)
    target.addOption(option.argParser((text, before: string[] | undefined) => [...(before ?? []), text]))
  }
}

function givenFlags(options: Record<string, unknown>): GivenFlags {
  return new Map(Object.entries(options) as [string, string[]][])
}

function checkCount(args: readonly string[], spec: LeafCommand, path: readonly CommandSpec[]): void {
  const { min, max, choices } = spec.args
  const name = path.map(step => step.name).join(' ')
  if (args.length < min || args.length > max) {
    const range =
      min === max ? `${min}` : max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`
    throw new CliError('USAGE', `${name} takes ${range} argument(s), and ${args.length} were given`, {
      hint: `run '${name} --help' for usage`,
    })
  }
  const unknown = choices === undefined ? undefined : args.find(arg => !choices.includes(arg))
  if (unknown === undefined) return
  const known = choices ?? []
  const guess = didYouMean(unknown, known)
  throw new CliError('USAGE', `${name} knows ${known.join(', ')}, and not ${JSON.stringify(unknown)}${guess}`)
}

function usageError(error: CommanderError): CliError {
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/ <value>/, '')
    .replace('too many arguments. Expected 0 arguments but got', 'unexpected arguments:')
  const guessed = message.includes('(Did you mean')
  return new CliError('USAGE', message, {
    ...(guessed ? {} : { hint: "add '--help' for usage" }),
    cause: error,
  })
}
