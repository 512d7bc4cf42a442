import { readFlagValues } from '../parse/flag-values.ts'
import type { FlagSet } from '../tree/flag.ts'

/** Arguments of an earlier installation that go on, and those that end. */
export interface KeptArguments {
  readonly kept: readonly string[]
  readonly dropped: readonly string[]
}

/**
 * Which arguments of a container stay when it is installed again: those that the program knows and that no flag of `install`
 * decides. `decided` are the names of the latter.
 */
export function keptArguments(
  earlier: readonly string[],
  { flags, decided }: { flags: FlagSet; decided: ReadonlySet<string> },
): KeptArguments {
  const kept: string[] = []
  const dropped: string[] = []
  for (const words of argumentGroups(earlier, flags)) {
    const { name, value } = nameAndValue(words)
    if (name === undefined || decided.has(name)) continue
    const target = isReadable(name, value, flags) ? kept : dropped
    target.push(...words)
  }
  return { kept, dropped }
}

/** Splits `--a=b --c d --e` into flags with their values; words that belong to none stand alone. */
function argumentGroups(words: readonly string[], flags: FlagSet): string[][] {
  const groups: string[][] = []
  for (const word of words) {
    const last = groups.at(-1)
    if (last?.length === 1 && !word.startsWith('-') && awaitsValue(last[0] ?? '', flags)) last.push(word)
    else groups.push([word])
  }
  return groups
}

function awaitsValue(word: string, flags: FlagSet): boolean {
  const spec = flags[word.replace(/^--?/, '')]
  return word.startsWith('--') && !word.includes('=') && spec?.type !== 'boolean'
}

function nameAndValue([flag = '', separate]: readonly string[]): { name?: string; value: string } {
  const match = /^--([^=]+)(?:=([\s\S]*))?$/.exec(flag)
  if (match === null) return flag.startsWith('-') ? { name: flag, value: '' } : { value: '' }
  return { name: match[1] ?? '', value: match[2] ?? separate ?? 'true' }
}

function isReadable(name: string, value: string, flags: FlagSet): boolean {
  const spec = flags[name]
  if (spec === undefined) return false
  try {
    readFlagValues({ [name]: spec }, new Map([[name, [value]]]))
    return true
  } catch {
    return false
  }
}
