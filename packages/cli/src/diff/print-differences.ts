import type { ShownDifference } from '@lateen/server'
import { cells, type Paint } from '../output/paint.ts'
import { paintedDiff } from '../output/painted-diff.ts'
import { itemsAsJson, itemsAsYaml } from '../output/print-items.ts'
import { type Column, renderTable } from '../output/table.ts'

export type DifferenceFormat = 'table' | 'json' | 'yaml' | 'diff'

/** How often each thing happened. */
export type DifferenceCounts = Record<ShownDifference['change'], number>

const columns: readonly Column[] = [
  { header: 'CHANGE', cell: ({ change }: ShownDifference) => change },
  { header: 'KIND', cell: ({ kind }: ShownDifference) => kind },
  { header: 'NAMESPACE', cell: ({ namespace }: ShownDifference) => namespace },
  { header: 'NAME', cell: ({ name }: ShownDifference) => name },
  {
    header: 'FIELDS',
    cell: ({ changes = [] }: ShownDifference) => fieldsOf(changes.map(({ path }) => path)),
  },
]

const fieldsShown = 3

function fieldsOf(paths: readonly string[]): string {
  const more = paths.length - fieldsShown
  return more > 0 ? `${paths.slice(0, fieldsShown).join(', ')} and ${more} more` : paths.join(', ')
}

export interface PrintDifferencesOptions {
  format: DifferenceFormat
  paint: Paint
  /** What is compared. */
  sides: { before: string; after: string }
  /** Counted while printing. */
  counts: DifferenceCounts
}

/** Differences as text, piece by piece. Throws what they throw. */
export async function* printDifferences(
  differences: AsyncIterable<ShownDifference>,
  { format, paint, sides, counts }: PrintDifferencesOptions,
): AsyncGenerator<string> {
  const items = counted(differences, counts)
  const document = { head: sides, items, tail: () => ({ counts }) }
  switch (format) {
    case 'table':
      yield* asTable(items)
      yield `${sides.before} and ${sides.after}: ${counts.added} added, ${counts.removed} removed, ${counts.changed} changed.\n`
      break
    case 'diff':
      for await (const item of items) yield* itemDiff(item, paint)
      break
    case 'json':
      yield* itemsAsJson(document)
      break
    case 'yaml':
      yield* itemsAsYaml(document)
      break
  }
}

async function* counted(
  differences: AsyncIterable<ShownDifference>,
  counts: DifferenceCounts,
): AsyncGenerator<ShownDifference> {
  for await (const each of differences) {
    counts[each.change] += 1
    yield each
  }
}

/** Values are not kept: rows are small. */
async function* asTable(items: AsyncIterable<ShownDifference>): AsyncGenerator<string> {
  const rows: ShownDifference[] = []
  for await (const { changes = [], ...item } of items) {
    rows.push({ ...item, changes: changes.map(({ path }) => ({ path })) })
  }
  const table = renderTable(columns, rows)
  yield table === '' ? '' : `${table}\n`
}

function* itemDiff({ change, kind, namespace, name, diff }: ShownDifference, paint: Paint): Iterable<string> {
  const place = namespace === '' ? name : `${namespace}/${name}`
  yield cells`${paint.bold(`# ${change} ${kind} ${place}`)}\n`
  yield* paintedDiff(diff ?? [], paint)
}
