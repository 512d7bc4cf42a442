const MINIMUM_WIDTH = 6
const PADDING = 3

/** A table column: its header and how an object's cell is read. */
export interface Column {
  readonly header: string
  // Cells are read by the functions that made the objects' type known; the table itself needs none.
  // biome-ignore lint/suspicious/noExplicitAny: a column of one kind must be usable in a list of columns of any kind
  readonly cell: (object: any) => string
}

interface Labelled {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
}

/** The columns that `-L` and `--show-labels` add. */
export function labelColumns(labels: readonly string[], showAll: boolean): Column[] {
  const picked = labels.map(label => ({
    header: (label.split('/').at(-1) ?? label).toUpperCase(),
    cell: (object: Labelled) => object.metadata?.labels?.[label] ?? '<none>',
  }))
  return showAll ? [...picked, { header: 'LABELS', cell: allLabels }] : picked
}

function allLabels(object: Labelled): string {
  const pairs = Object.entries(object.metadata?.labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',')
}

/**
 * Lays objects out as kubectl does: columns padded by three spaces, at least six wide, the last one not padded; nothing
 * at all, not even headers, when there are no objects.
 */
export function renderTable(columns: readonly Column[], objects: readonly object[]): string {
  if (objects.length === 0) return ''
  const rows = [
    columns.map(column => column.header),
    ...objects.map(object => columns.map(column => oneLine(column.cell(object)))),
  ]
  const widths = columns.map((_, at) =>
    Math.max(MINIMUM_WIDTH, ...rows.map(row => (row[at] ?? '').length + PADDING)),
  )
  return rows.map(row => `${padRow(row, widths)}\n`).join('')
}

function padRow(row: readonly string[], widths: readonly number[]): string {
  return row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join('')
}

/** Cells come from objects anybody may have written: no line breaks, no terminal escapes. */
function oneLine(text: string): string {
  const end = text.search(/[\f\n\r]/)
  const first = end < 0 ? text : `${text.slice(0, end)}...`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal
  return first.replace(/[\u0000-\u001f\u007f-\u009f]/g, char => (char === '\u001b' ? '^[' : '?'))
}
