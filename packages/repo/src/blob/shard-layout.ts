import { RepoError } from '../errors/repo-error.ts'
import type { BlobId } from './storage.ts'

/** Where a filesystem repository keeps which blob, as its `.shards` file says. */
export interface ShardLayout {
  /** How many characters of the id each folder on the way takes, outermost first. */
  readonly shards: readonly number[]
  /** Ids up to this length stay in the root. */
  readonly maxNonShardedLength: number
  /** Shards for ids with a prefix; the first that matches wins. */
  readonly overrides: readonly ShardOverride[]
}

/** Shards for the ids that start with a prefix. */
export interface ShardOverride {
  readonly prefix: string
  readonly shards: readonly number[]
}

/** Name of the file that holds the layout. */
export const shardsFileName = '.shards'

/** Ends the name of every finished blob's file. */
export const blobFileSuffix = '.f'

/** What new repositories get. */
export const newRepositoryShards: readonly number[] = [1, 3]

/** What Kopia takes for granted in a repository without the file. */
export const shardsWithoutFile: readonly number[] = [3, 3]

/** A layout as the programs create it: the same shards for every id, short ids in the root. */
export function layoutOf(shards: readonly number[]): ShardLayout {
  return { shards, maxNonShardedLength: 20, overrides: [] }
}

/** The bytes of a `.shards` file, as Kopia writes them. */
export function serializeShardLayout({ shards, maxNonShardedLength, overrides }: ShardLayout): string {
  const optional = overrides.length > 0 ? { overrides } : {}
  return `${JSON.stringify({ default: shards, maxNonShardedLength, ...optional })}\n`
}

/** Reads a `.shards` file. Throws `CORRUPT` when it is not one; `file` is its path for the message. */
export function parseShardLayout(text: string, file: string): ShardLayout {
  const parsed = parsedObject(text, file)
  const { overrides = [], maxNonShardedLength = 0 } = parsed
  if (!isCount(maxNonShardedLength)) throw notALayout(file, '"maxNonShardedLength" is not a length')
  if (!(overrides === null || Array.isArray(overrides))) throw notALayout(file, '"overrides" is not a list')
  return {
    shards: shardsIn(parsed.default, file),
    maxNonShardedLength,
    overrides: (overrides ?? []).map((override: unknown) => overrideIn(override, file)),
  }
}

function parsedObject(text: string, file: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw notALayout(file, 'it is not JSON', cause)
  }
  if (!isObject(parsed)) throw notALayout(file, 'it is not a JSON object')
  return parsed
}

function overrideIn(value: unknown, file: string): ShardOverride {
  if (!isObject(value)) throw notALayout(file, 'an override is not an object')
  const { prefix = '', shards } = value
  if (typeof prefix !== 'string') throw notALayout(file, 'the prefix of an override is not a string')
  return { prefix, shards: shardsIn(shards, file) }
}

/** No list is as good as an empty one: the blobs then lie side by side. */
function shardsIn(value: unknown, file: string): readonly number[] {
  if (value === undefined || value === null) return []
  if (!(Array.isArray(value) && value.every(isCount)))
    throw notALayout(file, 'shards are not a list of lengths')
  return value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function notALayout(file: string, reason: string, cause?: unknown): RepoError {
  return new RepoError('CORRUPT', {
    message: `The file ${file}, which says where blobs are, cannot be used: ${reason}`,
    hint: `Most repositories have the line ${serializeShardLayout(layoutOf(newRepositoryShards)).trim()} in it; compare with the folders that are there.`,
    path: file,
    cause,
  })
}

/** Where a blob's file is below the root. */
export interface ShardedName {
  /** Folders from the root, outermost first. */
  readonly folders: readonly string[]
  readonly file: string
}

/** Throws `INVALID_ARGUMENT` for an id of which a folder would be named `.` or `..`. */
export function shardedName(layout: ShardLayout, id: BlobId): ShardedName {
  const folders: string[] = []
  let rest: string = id
  for (const size of id.length <= layout.maxNonShardedLength ? [] : shardsFor(layout, id)) {
    if (rest.length <= size) break
    if (size === 0) continue
    folders.push(rest.slice(0, size))
    rest = rest.slice(size)
  }
  if (folders.includes('.') || folders.includes('..')) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `Blob ${id} cannot be stored: the repository's layout cuts its name at a dot`,
      blobId: id,
    })
  }
  return { folders, file: rest + blobFileSuffix }
}

function shardsFor(layout: ShardLayout, id: string): readonly number[] {
  return layout.overrides.find(({ prefix }) => id.startsWith(prefix))?.shards ?? layout.shards
}

/**
 * The layout by which these blobs were stored, when they tell one: `undefined` when none is long enough to be
 * sharded, `'mixed'` when no single layout puts all of them where they are.
 */
export function layoutInUse(found: Iterable<ShardedName>): ShardLayout | 'mixed' | undefined {
  let layout: ShardLayout | undefined
  for (const { folders, file } of found) {
    const id = folders.join('') + file.slice(0, -blobFileSuffix.length)
    const seen = layoutOf(folders.map(folder => folder.length))
    if (id.length <= seen.maxNonShardedLength) {
      if (folders.length > 0) return 'mixed'
      continue
    }
    layout ??= seen
    if (layout.shards.join() !== seen.shards.join()) return 'mixed'
  }
  return layout
}
