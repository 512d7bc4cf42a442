/** A line that both texts have, or only the first (`-`), or only the second (`+`). */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Beyond so many differing lines the shortest way is not looked for: it would take longer than anybody wants to wait. */
const maxEdits = 2_000

/**
 * How to make one text from another with few changes (Myers' algorithm; E. Myers, An O(ND) Difference Algorithm, 1986). Where they
 * have little in common, what differs is removed and added as a whole. Pure.
 */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const shortest = Math.min(before.length, after.length) - start
  while (end < shortest && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const middle = diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end))
  return [
    ...before.slice(0, start).map(text => line(' ', text)),
    ...middle,
    ...before.slice(before.length - end).map(text => line(' ', text)),
  ]
}

function line(sign: DiffLine['sign'], text: string): DiffLine {
  return { sign, text }
}

function diffMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const rounds = searchPath(before, after)
  if (rounds === undefined) {
    return [...before.map(text => line('-', text)), ...after.map(text => line('+', text))]
  }
  return walkBack(before, after, rounds)
}

/** Of each round, how far each diagonal came; undefined when it takes too many rounds. */
function searchPath(before: readonly string[], after: readonly string[]): Int32Array[] | undefined {
  const most = Math.min(before.length + after.length, maxEdits)
  const rounds: Int32Array[] = []
  let reached = new Int32Array([0])
  for (let edits = 0; edits <= most; edits++) {
    const next = new Int32Array(2 * edits + 1)
    for (let k = -edits; k <= edits; k += 2) {
      let x = edits === 0 ? 0 : stepTo(reached, k, edits)
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++
      next[k + edits] = x
      if (x >= before.length && x - k >= after.length) return [...rounds, next]
    }
    rounds.push(next)
    reached = next
  }
  return undefined
}

/** How far diagonal `k` comes by one change after the round before, whose diagonals `reached` has. */
function stepTo(reached: Int32Array, k: number, edits: number): number {
  return isDown(reached, k, edits) ? at(reached, k + 1, edits - 1) : at(reached, k - 1, edits - 1) + 1
}

/** Whether the change is an added line. */
function isDown(reached: Int32Array, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && at(reached, k - 1, edits - 1) < at(reached, k + 1, edits - 1))
}

function at(reached: Int32Array, k: number, edits: number): number {
  return reached[k + edits] ?? 0
}

function walkBack(before: readonly string[], after: readonly string[], rounds: Int32Array[]): DiffLine[] {
  const found: DiffLine[] = []
  let x = before.length
  let y = after.length
  const keepDownTo = (end: number) => {
    for (; x > end; y--) found.push(line(' ', before[--x] ?? ''))
  }
  for (let edits = rounds.length - 1; edits > 0; edits--) {
    const reached = rounds[edits - 1] ?? new Int32Array(0)
    const down = isDown(reached, x - y, edits)
    keepDownTo(stepTo(reached, x - y, edits))
    found.push(down ? line('+', after[--y] ?? '') : line('-', before[--x] ?? ''))
  }
  keepDownTo(0)
  return found.reverse()
}
