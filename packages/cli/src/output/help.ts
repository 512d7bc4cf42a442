import { type CommandSpec, isGroup } from '../tree/command.ts'
import type { FlagSet, FlagSpec } from '../tree/flag.ts'

const WIDTH = 110

/** The help of the last command of a path, as text for a terminal. */
export function renderHelp(path: readonly CommandSpec[], globals: FlagSet): string {
  const spec = path.at(-1)
  if (spec === undefined) return ''
  const name = path.map(step => step.name).join(' ')
  return [
    wrap(spec.description ?? `${spec.summary}.`, 0),
    section('Usage', [`  ${usageLine(path)}`]),
    section('Aliases', spec.aliases?.length ? [`  ${[spec.name, ...spec.aliases].join(', ')}`] : []),
    section(
      'Examples',
      (spec.examples ?? []).map(example => `  ${example}`),
    ),
    ...(isGroup(spec)
      ? [section('Commands', twoColumns(spec.commands.map(child => [child.name, child.summary])))]
      : [section('Flags', twoColumns(flagRows(spec.flags)))]),
    section('Global flags', twoColumns([...flagRows(globals), ['-h, --help', 'Show this help.']])),
    isGroup(spec) ? `\nUse '${name} COMMAND --help' for more about a command.\n` : '',
  ].join('')
}

/** How a command is typed. */
export function usageLine(path: readonly CommandSpec[]): string {
  const spec = path.at(-1)
  const name = path.map(step => step.name).join(' ')
  if (spec === undefined || isGroup(spec)) return `${name} COMMAND`
  const args = spec.args.usage === '' ? '' : ` ${spec.args.usage}`
  return `${name}${args}${Object.keys(spec.flags).length > 0 ? ' [flags]' : ''}`
}

/** How a flag is typed: `-o, --output FORMAT`. */
export function flagUsage(name: string, spec: FlagSpec): string {
  const value = valueNames[spec.type]
  return `${spec.short === undefined ? '    ' : `-${spec.short}, `}--${name}${value === '' ? '' : ` ${value}`}`
}

/** The help of a flag with its default, where that says something. */
export function flagHelp(spec: FlagSpec): string {
  if (spec.default === undefined || (spec.type === 'boolean' && spec.default === 'false')) return spec.help
  return `${spec.help} (default ${spec.default})`
}

const valueNames: Readonly<Record<FlagSpec['type'], string>> = {
  string: 'TEXT',
  choice: 'WORD',
  boolean: '',
  'optional-boolean': '',
  duration: 'DURATION',
  integer: 'NUMBER',
  number: 'NUMBER',
  map: 'KEY=VALUE,...',
  list: 'ITEM,...',
}

function flagRows(flags: FlagSet): [string, string][] {
  return Object.entries(flags).map(([name, spec]) => [flagUsage(name, spec), flagHelp(spec)])
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n${title}:\n${lines.join('\n')}\n`
}

function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(40, Math.max(0, ...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) => {
    const indent = width + 5
    const text = wrap(right, indent).trimEnd()
    return left.length > width
      ? `  ${left}\n${' '.repeat(indent)}${text}`
      : `  ${left.padEnd(width)}   ${text}`
  })
}

/** Breaks text between words; lines after the first are indented. */
function wrap(text: string, indent: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return `${[...lines, line].join(`\n${' '.repeat(indent)}`)}\n`
}
