import { CsiError } from './csi-error.ts'
import type { DriverRecord } from './record-folder.ts'

/** A part of a list, as a caller asks for it. */
export interface PageRequest {
  readonly maxEntries: number
  readonly startingToken: string
}

/**
 * A page of records that are in the order of their sequence. The token is the sequence of the last one, so that it holds when that one is
 * deleted. Throws ABORTED for a token that is none, INVALID_ARGUMENT for fewer than no entries.
 */
export function pageOf<T extends DriverRecord>(
  records: readonly T[],
  { maxEntries, startingToken }: PageRequest,
): { page: T[]; nextToken: string } {
  if (maxEntries < 0) throw new CsiError('INVALID_ARGUMENT', `max_entries is ${maxEntries}`)
  if (!/^\d*$/.test(startingToken)) {
    throw new CsiError('ABORTED', `the starting token ${startingToken} is none of this driver`)
  }
  const rest = records.filter(({ sequence }) => sequence > Number(startingToken))
  const page = maxEntries === 0 ? rest : rest.slice(0, maxEntries)
  const last = page.at(-1)
  return { page, nextToken: last && page.length < rest.length ? `${last.sequence}` : '' }
}
