import { type DiffLine, diffLines } from './diff-lines.ts'

/** Two texts and what they are called. */
export interface DiffedTexts {
  before: readonly string[]
  after: readonly string[]
  /** What stands behind `---` and `+++`. */
  names: { before: string; after: string }
}

/** Lines shown around a change. */
const context = 3

interface Hunk {
  readonly from: number
  readonly to: number
}

/** The lines of a unified diff, as `diff -u` writes it; none when the texts are the same. Pure. */
export function unifiedDiff({ before, after, names }: DiffedTexts): string[] {
  const lines = diffLines(before, after)
  const hunks = hunksOf(lines)
  if (hunks.length === 0) return []
  const shown = [`--- ${names.before}`, `+++ ${names.after}`]
  let place = { before: 0, after: 0, at: 0 }
  for (const hunk of hunks) {
    place = advance(place, lines, hunk.from)
    const part = lines.slice(hunk.from, hunk.to)
    shown.push(`@@ -${rangeOf(place.before, part, '-')} +${rangeOf(place.after, part, '+')} @@`)
    for (const { sign, text } of part) shown.push(sign + text)
  }
  return shown
}

interface Place {
  /** Lines of each text before this place. */
  before: number
  after: number
  /** In the list of lines. */
  at: number
}

function advance({ before, after, at }: Place, lines: readonly DiffLine[], to: number): Place {
  const passed = lines.slice(at, to)
  return {
    before: before + passed.filter(({ sign }) => sign !== '+').length,
    after: after + passed.filter(({ sign }) => sign !== '-').length,
    at: to,
  }
}

/** Changes with what is around them; those that are close to each other stand together. */
function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const hunks: Hunk[] = []
  for (const [index, { sign }] of lines.entries()) {
    if (sign === ' ') continue
    const from = Math.max(0, index - context)
    const to = Math.min(lines.length, index + context + 1)
    const last = hunks.at(-1)
    if (last !== undefined && from <= last.to) hunks[hunks.length - 1] = { from: last.from, to }
    else hunks.push({ from, to })
  }
  return hunks
}

function rangeOf(start: number, part: readonly DiffLine[], own: '-' | '+'): string {
  const count = part.filter(({ sign }) => sign === ' ' || sign === own).length
  return `${count === 0 ? start : start + 1},${count}`
}
