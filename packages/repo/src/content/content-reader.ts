import { setImmediate } from 'node:timers/promises'
import { isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { type ContentId, prefixOf } from '../index-format/content-id.ts'
import { compareEntries, type IndexEntry } from '../index-format/index-entry.ts'
import type { CommittedIndex } from './committed-index.ts'
import { type ContentCodec, openContent } from './content-codec.ts'
import type { ContentStore, EntriesOptions } from './content-store.ts'
import type { PackRanges } from './pack-ranges.ts'

/** Contents that no committed index knows yet: those of a writer. */
export interface UnindexedContents {
  find(id: ContentId): IndexEntry | undefined
  /** The bytes of a content whose pack is still in memory. */
  sealed(entry: IndexEntry): Uint8Array | undefined
  entries(): Iterable<IndexEntry>
}

/** What contents are read with. */
export interface ContentReaderOptions {
  index: CommittedIndex
  ranges: PackRanges
  codec: ContentCodec
  unindexed?: UnindexedContents
}

const entriesBetweenPauses = 8192

/** Reads contents: those of a writer first, then what the committed indexes know. */
export class ContentReader implements ContentStore {
  readonly #options: ContentReaderOptions

  constructor(options: ContentReaderOptions) {
    this.#options = options
  }

  get revision(): number {
    return this.#options.index.revision
  }

  info(id: ContentId): IndexEntry | undefined {
    const own = this.#options.unindexed?.find(id)
    const committed = this.#options.index.find(id)
    // Another client may have deleted since what this one has written and not published yet.
    if (own !== undefined && committed !== undefined)
      return compareEntries(own, committed) < 0 ? committed : own
    return own ?? committed
  }

  async read(id: ContentId, signal?: AbortSignal): Promise<Uint8Array> {
    throwIfCancelled(signal)
    const entry = this.#known(id)
    try {
      return await this.#readAt(entry, signal)
    } catch (error) {
      if (!isRepoError(error, 'BLOB_NOT_FOUND')) throw error
      // Maintenance may have moved the content to another pack since the index was read.
      await this.refresh(signal)
      const moved = this.#known(id)
      if (moved.packBlobId === entry.packBlobId) throw missingPack(entry, error)
      return this.#readAt(moved, signal)
    }
  }

  async *entries({ prefix, includeDeleted = false, signal }: EntriesOptions = {}): AsyncIterable<IndexEntry> {
    let count = 0
    for (const entry of this.#merged(prefix)) {
      count += 1
      if (count % entriesBetweenPauses === 0) await setImmediate()
      throwIfCancelled(signal)
      if (includeDeleted || !entry.deleted) yield entry
    }
  }

  refresh(signal?: AbortSignal): Promise<void> {
    return this.#options.index.refresh(signal)
  }

  #known(id: ContentId): IndexEntry {
    const entry = this.info(id)
    if (entry !== undefined) return entry
    throw contentNotFound(id)
  }

  async #readAt(entry: IndexEntry, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { codec, ranges, unindexed } = this.#options
    const { packBlobId, packOffset: offset, packedLength: length } = entry
    const range = { packBlobId, offset, length }
    const sealed = unindexed?.sealed(entry) ?? (await ranges.read(range, signal))
    try {
      return openContent(codec, entry, sealed)
    } catch (error) {
      if (!isRepoError(error, 'CORRUPT')) throw error
      // Damaged on the way, or before a cache took it; what the storage holds decides.
      return openContent(codec, entry, await ranges.readFresh(range, signal))
    }
  }

  *#merged(prefix: string | undefined): Iterable<IndexEntry> {
    const { index, unindexed } = this.#options
    const own = [...(unindexed?.entries() ?? [])]
      .filter(entry => prefix === undefined || prefixOf(entry.contentId) === prefix)
      .sort((a, b) => (a.contentId < b.contentId ? 1 : -1))
    for (const entry of index.entries(prefix)) {
      for (let next = own.at(-1); next !== undefined && next.contentId < entry.contentId; next = own.at(-1)) {
        yield next
        own.pop()
      }
      const same = own.at(-1)?.contentId === entry.contentId ? own.pop() : undefined
      yield same !== undefined && compareEntries(same, entry) > 0 ? same : entry
    }
    yield* own.reverse()
  }
}

/** Says that no index knows a content. */
export function contentNotFound(id: ContentId): RepoError {
  return new RepoError('CONTENT_NOT_FOUND', {
    message: `Content ${id} is not in the repository`,
    hint: 'run verify to see which snapshots need it',
    contentId: id,
  })
}

function missingPack({ contentId, packBlobId }: IndexEntry, cause: unknown): RepoError {
  return new RepoError('BLOB_NOT_FOUND', {
    message: `Content ${contentId} should be in blob ${packBlobId}, which is missing`,
    hint: 'run verify to see which snapshots need it',
    contentId,
    blobId: packBlobId,
    cause,
  })
}
