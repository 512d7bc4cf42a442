import { type Machine, printMachine } from '../tools/test/describe-machine.ts'

/** A measured number with its unit, for example 812 `ms`. */
export interface Quantity {
  value: number
  unit: string
}

/** What a row is meant to reach: a bound on our number, or on ours divided by the peer's. */
export interface Goal {
  of: 'ours' | 'ratio'
  atMost?: number
  atLeast?: number
}

/** One line of a bench: what was measured, by us and by a peer in the same run. */
export interface BenchRow {
  what: string
  ours: Quantity
  peer?: Quantity & { name: string }
  goal?: Goal
}

/** All that one bench found. */
export interface BenchReport {
  name: string
  machine: Machine
  started: Date
  rows: BenchRow[]
  /** Lines about how it was measured: counts, versions, what was left out. */
  notes: string[]
}

/** Ours divided by the peer's; undefined without a peer. */
export function ratioOf({ ours, peer }: BenchRow): number | undefined {
  return peer === undefined ? undefined : ours.value / peer.value
}

/** Whether a row reaches its goal; undefined when it has none or nothing to hold against it. */
export function isMet(row: BenchRow): boolean | undefined {
  const { goal } = row
  const value = goal?.of === 'ours' ? row.ours.value : ratioOf(row)
  if (goal === undefined || value === undefined || !Number.isFinite(value)) return undefined
  return (
    value <= (goal.atMost ?? Number.POSITIVE_INFINITY) && value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY)
  )
}

/** The rows as a Markdown table whose columns line up on a terminal too. */
export function printTable(rows: BenchRow[]): string {
  const cells = rows.map(row => [
    row.what,
    printQuantity(row.ours),
    row.peer === undefined ? '' : `${printQuantity(row.peer)} (${row.peer.name})`,
    ratioOf(row)?.toFixed(2) ?? '',
    printGoal(row),
    { true: 'yes', false: 'no', undefined: '' }[`${isMet(row)}`],
  ])
  const header = ['what', 'ours', 'peer', 'ratio', 'goal', 'met']
  const table = [header, ...cells]
  const widths = header.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  const lines = table.map(row => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`)
  return [lines[0], `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`, ...lines.slice(1)].join('\n')
}

/** The report as it is kept in `bench/results`. */
export function printReport({ name, machine, started, rows, notes }: BenchReport): string {
  const head = [
    `# Bench ${name}`,
    '',
    `${started.toISOString()}, ${printMachine(machine)}`,
    '',
    printTable(rows),
    '',
  ]
  return [...head, ...notes.map(note => `- ${note}`), ...(notes.length > 0 ? [''] : [])].join('\n')
}

function printQuantity({ value, unit }: Quantity): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  return `${value.toFixed(digits)} ${unit}`
}

function printGoal({ goal, ours }: BenchRow): string {
  if (goal === undefined) return ''
  const unit = goal.of === 'ours' ? ` ${ours.unit}` : ''
  const bounds = [
    ...(goal.atMost === undefined ? [] : [`<= ${goal.atMost}${unit}`]),
    ...(goal.atLeast === undefined ? [] : [`>= ${goal.atLeast}${unit}`]),
  ]
  return `${goal.of} ${bounds.join(', ')}`
}
