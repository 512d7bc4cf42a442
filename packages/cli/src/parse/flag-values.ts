import { CliError } from '../cli-error.ts'
import type { FlagSet, FlagSpec, FlagTypes } from '../tree/flag.ts'
import { parseBoolean } from './boolean.ts'
import { parseDuration } from './duration.ts'
import { parseKeyValues } from './key-values.ts'
import { didYouMean } from './nearest-name.ts'

type Value = FlagTypes[keyof FlagTypes] | undefined

/** The texts a flag was given on the command line, in order; absent when it was not. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>

/** Reads all flags of a set. Throws a CliError that names the flag and what it takes. */
export function readFlagValues(flags: FlagSet, given: GivenFlags): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, spec]) => {
      const texts = given.get(name) ?? (spec.default === undefined ? [] : [spec.default])
      return [name, readFlag(name, spec, texts)]
    }),
  )
}

function readFlag(name: string, spec: FlagSpec, texts: readonly string[]): Value {
  switch (spec.type) {
    case 'map':
      return Object.assign({}, ...texts.map(text => readMap(name, text, spec.pairSeparator)))
    case 'list':
      return texts.flatMap(text => (text === '' && !spec.emptyItem ? [] : text.split(',')))
    case 'boolean':
      return readLast(name, spec, texts) ?? false
    case 'optional-boolean':
      return texts.at(-1) === '' ? undefined : readLast(name, spec, texts)
    default:
      return readLast(name, spec, texts)
  }
}

function readMap(name: string, text: string, separator = '='): Record<string, string> {
  const map = parseKeyValues(text, separator)
  if (map !== undefined) return map
  throw badValue(name, text, {
    expectation: `must look like key1${separator}value1,key2${separator}value2`,
  })
}

function readLast(name: string, spec: FlagSpec, texts: readonly string[]): Value {
  const text = texts.at(-1)
  if (text === undefined) return undefined
  const expectation = expectationOf(spec)
  const value = readers[spec.type]?.(text, spec)
  if (value === undefined) throw badValue(name, text, { expectation, choices: spec.choices })
  return value
}

const readers: Partial<Record<keyof FlagTypes, (text: string, spec: FlagSpec) => Value>> = {
  string: text => text,
  choice: (text, spec) => (spec.choices?.includes(text) ? text : undefined),
  boolean: parseBoolean,
  'optional-boolean': parseBoolean,
  duration: parseDuration,
  integer: text => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined),
  number: text => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
}

function expectationOf(spec: FlagSpec): string {
  switch (spec.type) {
    case 'choice':
      return `must be one of ${(spec.choices ?? []).join(', ')}`
    case 'duration':
      return 'must be a duration such as 30s, 5m or 1h30m'
    case 'integer':
      return 'must be a whole number'
    case 'number':
      return 'must be a number'
    default:
      return 'must be true or false'
  }
}

function badValue(
  name: string,
  text: string,
  { expectation, choices = [] }: { expectation: string; choices?: readonly string[] | undefined },
): CliError {
  const guess = didYouMean(text, choices)
  return new CliError('USAGE', `--${name} ${expectation}, and ${JSON.stringify(text)} is not${guess}`)
}
