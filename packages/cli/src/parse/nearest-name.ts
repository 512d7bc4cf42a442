/** How many slips of the fingers a name may be away: one for short ones, two for longer ones. */
function allowedSlips(name: string): number {
  return name.length < 4 ? 1 : 2
}

/** The name that was probably meant: the one with the fewest slips between them, if they are few. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const wanted = typed.toLowerCase()
  const near = names
    .map(name => ({ name, slips: slipsBetween(wanted, name.toLowerCase()) }))
    .filter(({ name, slips }) => slips <= allowedSlips(name))
    .toSorted((a, b) => a.slips - b.slips)
  return near[0]?.name
}

/** The question that ends a message about an unknown name; empty when nothing is near. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const name = nearestName(typed, names)
  return name === undefined ? '' : ` (did you mean ${name}?)`
}

/** Damerau-Levenshtein distance: letters put in, left out, exchanged, or swapped with their neighbour. */
export function slipsBetween(a: string, b: string): number {
  let [before, last]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          cell(last, j) + 1,
          cell(row, j - 1) + 1,
          cell(last, j - 1) + same,
          swapped ? cell(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    before = last
    last = row
  }
  return cell(last, b.length)
}

function cell(row: readonly number[] | undefined, at: number): number {
  return row?.[at] ?? Number.POSITIVE_INFINITY
}
