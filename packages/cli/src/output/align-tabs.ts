const PADDING = 2

/**
 * Lays out text whose cells end in tabs, as Go's tabwriter does for `describe`: cells that stand one above the other on
 * consecutive lines form a column, as wide as its widest cell and two spaces. What follows a line's last tab belongs to no
 * column.
 */
export function alignTabs(text: string): string {
  const lines = text.split('\n').map(line => line.split('\t'))
  const widths: number[][] = lines.map(() => [])
  for (let column = 0; alignColumn(lines, widths, column); column += 1);
  return lines
    .map((cells, at) => cells.map((cell, column) => pad(cell, widths[at]?.[column] ?? 0)).join(''))
    .join('\n')
}

/** Finds the widths of one column's blocks; false when no line has this column. */
function alignColumn(lines: readonly string[][], widths: readonly number[][], column: number): boolean {
  let found = false
  let start = 0
  let widest = 0
  for (let at = 0; at <= lines.length; at += 1) {
    const cells = lines[at]
    if (cells !== undefined && cells.length > column + 1) {
      found = true
      widest = Math.max(widest, lengthOf(cells[column] ?? ''))
      continue
    }
    for (let line = start; line < at; line += 1) widths[line]?.push(widest + PADDING)
    start = at + 1
    widest = 0
  }
  return found
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - lengthOf(cell)))
}

/** In characters, as Go counts them. */
function lengthOf(cell: string): number {
  return /^[\x20-\x7e]*$/.test(cell) ? cell.length : [...cell].length
}
