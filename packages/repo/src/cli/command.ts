import type { Clock } from '../clock/clock.ts'
import type { PasswordSources } from './password.ts'

/** What the program is given by whoever starts it. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: PasswordSources['stdin']
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Who owns the snapshots made here. */
  readonly host: string
  readonly userName: string
}

/** A stream that may be a terminal. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** One flag: a switch, or one that takes a value, perhaps several times. */
export interface Flag {
  readonly type: 'boolean' | 'string'
  readonly multiple?: boolean
  /** Stands for the value in the help. */
  readonly value?: string
  readonly help: string
}

/** The values of a command's flags, by name. */
export type FlagValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** A command as data: the help is printed from it without loading what it does. */
export interface Command {
  readonly name: string
  /** The arguments after the name, as the help shows them. */
  readonly usage: string
  readonly summary: string
  /** How many arguments it takes. */
  readonly takes: readonly [least: number, most: number]
  readonly flags: Readonly<Record<string, Flag>>
  readonly load: () => Promise<CommandRun>
}

/** What a command works with. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly flags: FlagValues
  readonly output: CommandOutput
  readonly surroundings: Surroundings
}

/** Does a command's work and resolves to the exit code. Throws a RepoError when it fails. */
export type CommandRun = (context: CommandContext) => Promise<number>

/** Where a command's results go: as text, or as JSON with `--json`. */
export interface CommandOutput {
  readonly json: boolean
  readonly quiet: boolean
  /** The one result of a command. */
  document(value: unknown, lines: readonly string[]): Promise<void>
  /** One of many results: a line of text, or of JSON. */
  row(value: unknown, line: string): Promise<void>
  /** Bytes as they are, with `--json` too. */
  bytes(bytes: Uint8Array): Promise<void>
  /** Something beside the results, on stderr. */
  note(line: string): void
}

/** The value of a flag that takes one, or undefined. */
export function textFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}

/** The values of a flag that may be given several times. */
export function textFlags(flags: FlagValues, name: string): string[] {
  const value = flags[name]
  return Array.isArray(value) ? value.map(String) : []
}
