import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import type { PackLane } from './pack-lane.ts'

/** Which entries `ContentStore.entries` yields. */
export interface EntriesOptions {
  /** Only contents with this prefix letter; `''` means contents without one. Absent: all of them. */
  prefix?: string | undefined
  /** Also yields the entries of deleted contents which no watermark hides. */
  includeDeleted?: boolean
  signal?: AbortSignal | undefined
}

/** The contents of an opened repository, for reading. */
export interface ContentStore {
  /** Another number after every change of the indexes this store knows: by refresh, by flush. */
  readonly revision: number
  /**
   * The plaintext of a content, deleted ones included as long as their pack exists. Throws `CONTENT_NOT_FOUND` when no
   * index knows it, `CORRUPT` (with content and blob) when its bytes are damaged.
   */
  read(id: ContentId, signal?: AbortSignal): Promise<Uint8Array>
  /** What the indexes say of a content, deleted or not; undefined when they do not know it. */
  info(id: ContentId): IndexEntry | undefined
  /** One entry per content, in the order of ids. */
  entries(options?: EntriesOptions): AsyncIterable<IndexEntry>
  /** Takes in the index blobs that others have written or removed since. */
  refresh(signal?: AbortSignal): Promise<void>
}

/** How one content is written. */
export interface WriteContentOptions {
  /** A letter `g` to `z`: the content goes to a metadata pack. Absent or empty: file data. */
  prefix?: string | undefined
  /** The name of a compressor; used only where it makes the content shorter. */
  compressor?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * The contents of a repository, for reading and writing. What is written becomes visible to others when `flush` has
 * resolved, not before; this writer reads it at once.
 */
export interface ContentWriter extends ContentStore {
  /**
   * Stores a content unless a live one with the same bytes exists, and returns its id. `data` must not change until the
   * promise is settled. Throws what the storage throws, also for a pack of earlier contents that could not be stored.
   */
  write(data: Uint8Array, options?: WriteContentOptions): Promise<ContentId>
  /**
   * `write` without waiting: undefined, and nothing done, when something must be awaited first (the session marker, a
   * refresh, a full queue of packs). `data` is not used any more when it returns.
   */
  tryWrite(data: Uint8Array, options?: WriteContentOptions): ContentId | undefined
  /**
   * True when what is written may rely on the content: it is there and not marked deleted. Undefined when the indexes are
   * too old to tell; then `refresh` first.
   */
  keeps(id: ContentId): boolean | undefined
  /** Packs that somebody else fills. `recall` leads to `PackLane.close` when what was admitted so far is needed here. */
  openLane(recall: () => Promise<void>): PackLane
  /** Marks a content deleted. Throws `CONTENT_NOT_FOUND`; a deleted one stays as it is. */
  delete(id: ContentId, signal?: AbortSignal): Promise<void>
  /** Writes a deleted content again as a live one. A live one stays as it is. Throws `CONTENT_NOT_FOUND`. */
  undelete(id: ContentId, signal?: AbortSignal): Promise<void>
  /** Writes a content again into a new pack, deleted or live as it was. Throws `CONTENT_NOT_FOUND`. */
  rewrite(id: ContentId, signal?: AbortSignal): Promise<void>
  /** Runs `change` so that everything it writes and deletes becomes visible at once. No flush happens inside. */
  atomically<T>(change: () => Promise<T>): Promise<T>
  /**
   * Makes everything written so far durable and visible: packs, then the index, then the end of the session. When it
   * throws, nothing is lost from memory and the next flush tries again.
   */
  flush(signal?: AbortSignal): Promise<void>
}
