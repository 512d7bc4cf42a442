/** How much of an archive is taken in before it counts as hostile. Sizes are in bytes. */
export interface ArchiveLimits {
  /** Of one entry. An API server takes objects of some 3 MiB. */
  readonly entryBytes: number
  /** Of all kinds. An object has at least two: with and without its version. */
  readonly entries: number
  /** Of one path. */
  readonly pathBytes: number
  /** Folders in a path, and the file. Objects need six. */
  readonly pathDepth: number
  /** Of the names of all objects, which are kept in memory. */
  readonly catalogueBytes: number
  /** Of everything, decompressed. Objects are kept in scratch, once where two entries are the same. */
  readonly decompressedBytes: number
  /** How many times larger it may be decompressed, once it is larger than `ratioFrom`. Deflate reaches 1032. */
  readonly ratio: number
  readonly ratioFrom: number
}

const kibi = 1024
const mebi = 1024 * kibi
const gibi = 1024 * mebi

export const defaultArchiveLimits: ArchiveLimits = {
  entryBytes: 64 * mebi,
  entries: 4_000_000,
  pathBytes: 4 * kibi,
  pathDepth: 16,
  catalogueBytes: 256 * mebi,
  decompressedBytes: 64 * gibi,
  ratio: 500,
  ratioFrom: 256 * mebi,
}
