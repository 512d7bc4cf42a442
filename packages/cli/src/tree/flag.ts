import type { Duration } from '../parse/duration.ts'

/** What the value of each flag type becomes once it is read. */
export interface FlagTypes {
  string: string
  choice: string
  boolean: boolean
  /** A boolean whose absence means something else than false. */
  'optional-boolean': boolean
  duration: Duration
  integer: number
  number: number
  /** `key=value,key2=value2`; repeated flags add up. */
  map: Record<string, string>
  /** `a,b`; repeated flags add up. */
  list: string[]
}

/** One flag of a command, as data: parsing, help, completion and the reference all come from it. */
export interface FlagSpec {
  readonly type: keyof FlagTypes
  readonly help: string
  readonly short?: string
  /** As a user would write it. Absent: undefined, or the empty value for boolean, map and list. */
  readonly default?: string
  /** Allowed values of a `choice`; suggestions for other types. */
  readonly choices?: readonly string[]
  /** Stands between key and value in a `map`. `=` when absent. */
  readonly pairSeparator?: string
  /** Whether an empty text is an item of a `list`; else it adds nothing. */
  readonly emptyItem?: boolean
  /** The plural of the velero.io kind whose objects it names: completion asks the cluster for them. */
  readonly names?: string
  /** Accepted, but not in help and completion. */
  readonly hidden?: boolean
}

/** The flags of one command by their long names, without dashes. */
export type FlagSet = Readonly<Record<string, FlagSpec>>

type AlwaysSet = 'boolean' | 'map' | 'list'

type FlagValue<F extends FlagSpec> = F['type'] extends AlwaysSet
  ? FlagTypes[F['type']]
  : F extends { readonly default: string }
    ? FlagTypes[F['type']]
    : FlagTypes[F['type']] | undefined

/** The values of a flag set once they are read. */
export type FlagValues<S extends FlagSet> = { readonly [K in keyof S]: FlagValue<S[K]> }
