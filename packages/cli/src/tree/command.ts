import type { Clock, KubeClient } from '@lateen/kube'
import type { CommandResult } from '../output/command-result.ts'
import type { FlagSet, FlagValues } from './flag.ts'

/** What the global flags, the client configuration and the environment agree on. */
export interface Settings {
  readonly namespace: string
  readonly kubeconfig: string | undefined
  readonly kubecontext: string | undefined
  readonly features: readonly string[]
  readonly colorized: boolean
  /** File with certificates for the object store, from the client configuration. */
  readonly cacert: string | undefined
  /** How long the API server may say nothing; 0 is for ever. */
  readonly requestTimeoutMs: number
}

/** The process around a command; nothing below `main.ts` looks for these elsewhere. */
export interface Surroundings {
  /** What the program was called as: `lateen`, or `kubectl lateen`. */
  readonly program: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** One use of a command: what was typed, and the doors to the world. */
export interface CommandCall<F extends FlagSet = FlagSet> {
  readonly args: readonly string[]
  readonly flags: FlagValues<F>
  /** Names of the flags that were given on the command line. */
  readonly given: ReadonlySet<string>
  readonly surroundings: Surroundings
  /** Reads the client configuration on first use. Throws a CliError when that file is broken. */
  settings(): Promise<Settings>
  /** Connects to the cluster of the kubeconfig. The caller disposes it. */
  connect(): Promise<KubeClient>
}

/** What `commands/<noun>-<verb>.ts` exports. */
export interface CommandModule<F extends FlagSet> {
  run(call: CommandCall<F>): Promise<CommandResult> | CommandResult
}

/** Positional arguments: how they are called in help, and how many there must be. */
export interface ArgumentSpec {
  readonly usage: string
  readonly min: number
  readonly max: number
  readonly choices?: readonly string[]
  /** The plural of the velero.io kind whose objects they name: completion asks the cluster for them. */
  readonly names?: string
}

/** As many names of objects as there are. */
export function anyNames(plural: string): ArgumentSpec {
  return { usage: '[NAMES]', min: 0, max: Number.POSITIVE_INFINITY, names: plural }
}

/** The name of one object. */
export function oneName(plural: string): ArgumentSpec {
  return { usage: 'NAME', min: 1, max: 1, names: plural }
}

/** A name that no object has yet. */
export const newName: ArgumentSpec = { usage: 'NAME', min: 1, max: 1 }

interface CommandText {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly examples?: readonly string[]
  /** Not in the lists of help and completion: a command that programs call. */
  readonly hidden?: boolean
}

/** A command that does something. Its code is loaded when it is used. */
export interface LeafCommand extends CommandText {
  readonly args: ArgumentSpec
  readonly flags: FlagSet
  readonly load: () => Promise<CommandModule<FlagSet>>
}

/** A command that only holds others. */
export interface CommandGroup extends CommandText {
  readonly commands: readonly CommandSpec[]
}

export type CommandSpec = LeafCommand | CommandGroup

/** No positional arguments. */
export const noArguments: ArgumentSpec = { usage: '', min: 0, max: 0 }

/** Declares a command; the compiler checks that the module it loads takes exactly these flags. */
export function command<const F extends FlagSet>(
  spec: Omit<LeafCommand, 'flags' | 'load'> & {
    readonly flags: F
    readonly load: () => Promise<CommandModule<F>>
  },
): LeafCommand {
  // Values are read by the same flag set that types them, so widening the call's type is sound.
  return spec as unknown as LeafCommand
}

export function isGroup(spec: CommandSpec): spec is CommandGroup {
  return 'commands' in spec
}
