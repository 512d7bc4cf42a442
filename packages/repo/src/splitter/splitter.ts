import { RepoError } from '../errors/repo-error.ts'
import { createBuzhash } from './buzhash.ts'
import { dynamicSplitter } from './dynamic-splitter.ts'
import { fixedSplitter } from './fixed-splitter.ts'
import { createRabinKarp } from './rabin-karp.ts'

/**
 * Decides where a stream of bytes is cut into contents. Fed with consecutive slices of the stream; where the slices
 * end has no influence on where the cuts fall.
 */
export interface Splitter {
  /** No content is longer than this. */
  readonly maxSegment: number
  /** Forgets the stream seen so far. */
  reset(): void
  /**
   * Takes the next bytes of the stream and returns the offset after the first cut in them, or -1 when there is none.
   * After a cut the splitter has consumed only the bytes before it: the rest of the slice is passed in again.
   */
  nextCut(bytes: Uint8Array): number
}

const sizes: readonly (readonly [name: string, bytes: number])[] = [
  ['128K', 128 << 10],
  ['256K', 256 << 10],
  ['512K', 512 << 10],
  ['1M', 1 << 20],
  ['2M', 2 << 20],
  ['4M', 4 << 20],
  ['8M', 8 << 20],
]

const defaultSize = 4 << 20

const factories: ReadonlyMap<string, () => Splitter> = new Map([
  ...sizes.map(([name, bytes]) => [`FIXED-${name}`, () => fixedSplitter(bytes)] as const),
  ...sizes.map(
    ([name, bytes]) =>
      [`DYNAMIC-${name}-BUZHASH`, () => dynamicSplitter(bytes, createBuzhash(bytes))] as const,
  ),
  ...sizes.map(
    ([name, bytes]) =>
      [`DYNAMIC-${name}-RABINKARP`, () => dynamicSplitter(bytes, createRabinKarp(bytes))] as const,
  ),
  ['FIXED', () => fixedSplitter(defaultSize)] as const,
  ['DYNAMIC', () => dynamicSplitter(defaultSize, createBuzhash(defaultSize))] as const,
])

/** The names of all splitters that Kopia 0.22 knows, the two legacy aliases last. */
export const splitterNames: readonly string[] = [...factories.keys()]

/** The splitter of new repositories, which is Kopia's default. */
export const defaultSplitterName = 'DYNAMIC-4M-BUZHASH'

/** A splitter at the start of a stream. Throws `UNSUPPORTED_FORMAT` for a name that is not in `splitterNames`. */
export function createSplitter(name: string): Splitter {
  const factory = factories.get(name)
  if (factory === undefined) {
    throw new RepoError('UNSUPPORTED_FORMAT', {
      message: `The splitter "${name}" is unknown`,
      hint: `known are ${splitterNames.join(', ')}`,
    })
  }
  return factory()
}
