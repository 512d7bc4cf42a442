/** How many things, and how many bytes they have. */
export interface Tally {
  count: number
  bytes: number
}

/** Nothing yet. */
export function emptyTally(): Tally {
  return { count: 0, bytes: 0 }
}

/** Adds one thing of so many bytes. */
export function count(tally: Tally, bytes: number): void {
  tally.count += 1
  tally.bytes += bytes
}
