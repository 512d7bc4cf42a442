import { type CommandSpec, isGroup } from '../tree/command.ts'
import type { FlagSet } from '../tree/flag.ts'

/** What can be typed at one point of the tree. */
export interface CompletionPoint {
  /** Command names from below the root, joined by spaces; empty at the root. */
  readonly path: string
  /** Subcommands by the name typed (aliases too), and the name they stand for. */
  readonly steps: readonly { readonly typed: string; readonly name: string; readonly summary: string }[]
  /** Values that positional arguments may have, where they are known. */
  readonly values: readonly string[]
  /** Whether positional arguments name objects of the cluster. */
  readonly live: boolean
  readonly flags: readonly CompletionFlag[]
}

export interface CompletionFlag {
  readonly name: string
  readonly short: string | undefined
  readonly takesValue: boolean
  readonly choices: readonly string[]
  /** Whether the value names objects of the cluster. */
  readonly live: boolean
  readonly help: string
}

/** Flattens the tree into its points, the root first. */
export function completionPoints(root: CommandSpec, globals: FlagSet): CompletionPoint[] {
  const common = [...flagsOf(globals), helpFlag]
  return pointsBelow(root, '', common)
}

const helpFlag: CompletionFlag = {
  name: 'help',
  short: 'h',
  takesValue: false,
  choices: [],
  live: false,
  help: 'Show help.',
}

function pointsBelow(spec: CommandSpec, path: string, common: readonly CompletionFlag[]): CompletionPoint[] {
  if (!isGroup(spec)) {
    const flags = [...flagsOf(spec.flags), ...common]
    const { choices = [], names } = spec.args
    return [{ path, steps: [], values: choices, live: names !== undefined, flags }]
  }
  const shown = spec.commands.filter(({ hidden }) => !hidden)
  const steps = shown.flatMap(child =>
    [child.name, ...(child.aliases ?? [])].map(typed => ({
      typed,
      name: child.name,
      summary: child.summary,
    })),
  )
  const below = shown.flatMap(child => pointsBelow(child, `${path} ${child.name}`.trim(), common))
  return [{ path, steps, values: [], live: false, flags: common }, ...below]
}

function flagsOf(flags: FlagSet): CompletionFlag[] {
  const shown = Object.entries(flags).filter(([, { hidden }]) => !hidden)
  return shown.map(([name, spec]) => {
    const bare = spec.type === 'boolean' || spec.type === 'optional-boolean'
    const { short, choices = [], names, help } = spec
    return { name, short, takesValue: !bare, choices, live: names !== undefined, help }
  })
}
