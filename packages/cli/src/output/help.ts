import { type CommandSpec, isGroup } from '../tree/command.ts'
import type { FlagSet, FlagSpec } from '../tree/flag.ts'
import { calledAs } from './error-line.ts'

/** Longer lines are hard to read, and shorter ones cannot hold flags and their help side by side. */
const WIDEST = 110
const NARROWEST = 40

/** How help is laid out. */
export interface HelpOptions {
  /** What the program was called as. */
  readonly program: string
  /** Columns of the terminal; undefined where there is none. */
  readonly columns?: number | undefined
}

/** The help of the last command of a path, as text for a terminal. */
export function renderHelp(
  path: readonly CommandSpec[],
  globals: FlagSet,
  { program, columns = WIDEST }: HelpOptions,
): string {
  const spec = path.at(-1)
  if (spec === undefined) return ''
  const width = Math.max(NARROWEST, Math.min(WIDEST, columns))
  const name = [program, ...path.slice(1).map(step => step.name)].join(' ')
  const shown = isGroup(spec) ? spec.commands.filter(({ hidden }) => !hidden) : []
  const twoColumns = (rows: readonly Row[]) => inTwoColumns(rows, width)
  return [
    wrap(spec.description ?? `${spec.summary}.`, { indent: 0, width }),
    section('Usage', [`  ${usageLine(path, program)}`]),
    section('Aliases', spec.aliases?.length ? [`  ${[spec.name, ...spec.aliases].join(', ')}`] : []),
    section(
      'Examples',
      (spec.examples ?? []).map(example => `  ${calledAs(program, example)}`),
    ),
    ...(isGroup(spec)
      ? [section('Commands', twoColumns(shown.map(child => [child.name, child.summary])))]
      : [section('Flags', twoColumns(flagRows(spec.flags)))]),
    section('Global flags', twoColumns([...flagRows(globals), ['-h, --help', 'Show this help.']])),
    isGroup(spec)
      ? `\n${wrap(`Use '${name} COMMAND --help' for more about a command.`, { indent: 0, width })}`
      : '',
  ].join('')
}

/** How a command is typed. */
export function usageLine(path: readonly CommandSpec[], program = path[0]?.name ?? ''): string {
  const spec = path.at(-1)
  const name = [program, ...path.slice(1).map(step => step.name)].join(' ')
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

type Row = readonly [string, string]

function flagRows(flags: FlagSet): Row[] {
  const shown = Object.entries(flags).filter(([, { hidden }]) => !hidden)
  return shown.map(([name, spec]) => [flagUsage(name, spec), flagHelp(spec)])
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n${title}:\n${lines.join('\n')}\n`
}

function inTwoColumns(rows: readonly Row[], width: number): string[] {
  const left = Math.min(40, Math.max(0, ...rows.map(([text]) => text.length)))
  // Beside a long flag a narrow terminal has no room for a sentence.
  const indent = left + 5 > width / 2 ? 10 : left + 5
  return rows.map(([head, help]) => {
    const text = wrap(help, { indent, width }).trimEnd()
    return indent === left + 5 && head.length <= left
      ? `  ${head.padEnd(left)}   ${text}`
      : `  ${head}\n${' '.repeat(indent)}${text}`
  })
}

/** Breaks text between words; lines after the first are indented. */
function wrap(text: string, { indent, width }: { indent: number; width: number }): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return `${[...lines, line].join(`\n${' '.repeat(indent)}`)}\n`
}
