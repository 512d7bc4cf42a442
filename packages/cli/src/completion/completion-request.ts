import { type CommandSpec, isGroup, type LeafCommand } from '../tree/command.ts'
import type { FlagSet, FlagSpec } from '../tree/flag.ts'

/** A word that may be typed, and what it is for. */
export interface Offer {
  readonly word: string
  readonly help: string
}

/** What can follow some words. */
export type CompletionRequest =
  | { readonly want: 'words'; readonly offers: readonly Offer[] }
  /** Names of objects in the cluster. */
  | {
      readonly want: 'names'
      /** The plural of their kind. */
      readonly plural: string
      /** What stands before the name in the same word: `--flag=`, or other names of a list. */
      readonly lead: string
      /** Names that are there already. */
      readonly taken: readonly string[]
    }
  | { readonly want: 'files' }

/** What is asked for, and what the words before tell. */
export interface CompletionScene {
  readonly request: CompletionRequest
  /** The last value of each flag that has one. */
  readonly given: ReadonlyMap<string, string>
}

interface Walk {
  spec: CommandSpec
  args: string[]
  /** The flag whose value comes next. */
  pending: [string, FlagSpec] | undefined
  given: Map<string, string>
}

/** Finds out what the last of some words may be. Words that the tree does not know are passed over. */
export function completionRequest(
  root: CommandSpec,
  globals: FlagSet,
  words: readonly string[],
): CompletionScene {
  const walk: Walk = { spec: root, args: [], pending: undefined, given: new Map() }
  for (const word of words.slice(0, -1)) step(walk, word, globals)
  return { request: requestAt(walk, words.at(-1) ?? '', globals), given: walk.given }
}

function step(walk: Walk, word: string, globals: FlagSet): void {
  if (walk.pending !== undefined) {
    walk.given.set(walk.pending[0], word)
    walk.pending = undefined
    return
  }
  if (word.startsWith('-') && word !== '-') {
    const at = word.indexOf('=')
    const found = findFlag(at < 0 ? word : word.slice(0, at), walk.spec, globals)
    if (found === undefined) return
    if (at >= 0) walk.given.set(found[0], word.slice(at + 1))
    else if (takesValue(found[1])) walk.pending = found
    return
  }
  const { spec } = walk
  if (!isGroup(spec)) walk.args.push(word)
  else walk.spec = childOf(spec.commands, word) ?? spec
}

function requestAt(walk: Walk, typed: string, globals: FlagSet): CompletionRequest {
  const { spec, pending } = walk
  if (pending !== undefined) return valuesOf(pending[1], '', typed)
  if (typed.startsWith('-')) {
    const at = typed.indexOf('=')
    if (at < 0) return { want: 'words', offers: flagOffers(spec, globals) }
    const found = findFlag(typed.slice(0, at), spec, globals)
    if (found === undefined) return { want: 'words', offers: [] }
    return valuesOf(found[1], typed.slice(0, at + 1), typed.slice(at + 1))
  }
  return isGroup(spec)
    ? { want: 'words', offers: commandOffers(spec.commands) }
    : argumentsOf(spec, walk.args)
}

function argumentsOf({ args: spec }: LeafCommand, given: readonly string[]): CompletionRequest {
  if (given.length >= spec.max) return { want: 'words', offers: [] }
  if (spec.names !== undefined) return { want: 'names', plural: spec.names, lead: '', taken: given }
  return { want: 'words', offers: (spec.choices ?? []).map(word => ({ word, help: '' })) }
}

function valuesOf(spec: FlagSpec, lead: string, typed: string): CompletionRequest {
  if (spec.names !== undefined) {
    const before = spec.type === 'list' ? typed.slice(0, typed.lastIndexOf(',') + 1) : ''
    return { want: 'names', plural: spec.names, lead: lead + before, taken: before.split(',') }
  }
  if (spec.choices === undefined) return { want: 'files' }
  return { want: 'words', offers: spec.choices.map(word => ({ word: lead + word, help: '' })) }
}

function commandOffers(commands: readonly CommandSpec[]): Offer[] {
  return commands.filter(({ hidden }) => !hidden).map(({ name, summary }) => ({ word: name, help: summary }))
}

function flagOffers(spec: CommandSpec, globals: FlagSet): Offer[] {
  const all = Object.entries({ ...(isGroup(spec) ? {} : spec.flags), ...globals })
  const shown = all.filter(([, { hidden }]) => !hidden)
  return [
    ...shown.flatMap(([name, { short, help }]) =>
      short === undefined
        ? [{ word: `--${name}`, help }]
        : [
            { word: `--${name}`, help },
            { word: `-${short}`, help },
          ],
    ),
    { word: '--help', help: 'Show help.' },
  ]
}

function findFlag(dashed: string, spec: CommandSpec, globals: FlagSet): [string, FlagSpec] | undefined {
  const all = Object.entries({ ...globals, ...(isGroup(spec) ? {} : spec.flags) })
  return all.find(([name, { short }]) => dashed === `--${name}` || dashed === `-${short}`)
}

function takesValue({ type }: FlagSpec): boolean {
  return type !== 'boolean' && type !== 'optional-boolean'
}

function childOf(commands: readonly CommandSpec[], word: string): CommandSpec | undefined {
  return commands.find(({ name, aliases = [] }) => name === word || aliases.includes(word))
}
