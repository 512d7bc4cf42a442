import type { BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { createEpochManager, type EpochManager } from '../epoch/epoch-manager.ts'
import type { CompleteIndexSet } from '../epoch/epoch-state.ts'
import { fetchIndexBlobs } from '../epoch/fetch-index-blobs.ts'
import { readLegacyIndexSet } from '../epoch/legacy-index.ts'
import type { BlobCrypto } from '../format/blob-crypto.ts'
import type { RepositoryFormat } from '../format/repository-format.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import { emptyIndexSet, type IndexSet } from '../index-format/index-set.ts'
import { serializeShards } from '../index-format/serialize-index.ts'

/** What the committed index works with. */
export interface CommittedIndexOptions {
  storage: BlobStorage
  crypto: BlobCrypto
  format: RepositoryFormat
  clock: Clock
  /** Called when what is known has become stale, before it is refreshed; refreshing fails with what it throws. */
  beforeStaleRefresh?: ((signal: AbortSignal | undefined) => Promise<void>) | undefined
}

/**
 * Maintenance of another client may mark a content deleted that we would rely on; a writer must see that within this time,
 * as Kopia's writers do.
 */
const stalesAfter = 15 * 60_000

/** A listing may lag behind on storages that break their promise; what we wrote ourselves this recently is there. */
const ownBlobsCountFor = 15 * 60_000

/** The indexes that the storage holds, as one; shared by all readers and writers of an opened repository. */
export class CommittedIndex {
  /** Epochs of the index; format version 1 has none. */
  readonly epochs: EpochManager
  readonly #options: CommittedIndexOptions
  #set: IndexSet
  #revision = 0
  #refreshedAt = Number.NEGATIVE_INFINITY
  #frozenBy: symbol | undefined
  /** Refreshing and publishing change the set, one after the other. */
  #lastChange: Promise<unknown> = Promise.resolve()
  #waitingRefresh: Promise<void> | undefined
  readonly #ownBlobs = new Map<string, number>()

  constructor(options: CommittedIndexOptions) {
    const { format, crypto } = options
    this.#options = options
    this.epochs = createEpochManager({ ...options, parameters: format.epochParameters })
    this.#set = emptyIndexSet({ encryptionOverhead: crypto.encryption.overhead })
  }

  /** Another number after every change. */
  get revision(): number {
    return this.#revision
  }

  /** Unix seconds; deletions up to it hide their contents. */
  get deletionWatermark(): number {
    return this.#set.deletionWatermark
  }

  /** The indexes as they are now; the next change makes another set and leaves this one as it is. */
  get current(): IndexSet {
    return this.#set
  }

  /** True when a writer must refresh before it relies on a content; a clock that was set back tells no age at all. */
  isStale(): boolean {
    const age = this.#options.clock.now() - this.#refreshedAt
    return this.#frozenBy === undefined && Math.abs(age) > stalesAfter
  }

  /** The entry that counts, deleted or not, unless the watermark hides it. */
  find(id: ContentId): IndexEntry | undefined {
    return this.#set.get(id)
  }

  /** One entry per content in the order of ids, deleted ones included unless the watermark hides them. */
  entries(prefix: string | undefined): Iterable<IndexEntry> {
    return this.#set.entries({ prefix })
  }

  /** Takes in what others have written. Throws `CORRUPT` for a damaged index blob, and what the storage throws. */
  refresh(signal?: AbortSignal): Promise<void> {
    if (this.#frozenBy !== undefined) return Promise.resolve()
    // A refresh that has not begun yet serves everybody who asks for one meanwhile.
    this.#waitingRefresh ??= this.#exclusively(() => {
      this.#waitingRefresh = undefined
      return this.#refreshNow(signal)
    })
    return this.#waitingRefresh
  }

  /** Until disposed, the set changes by `publish` only: maintenance decides on one view of the repository. */
  freeze(): Disposable {
    const holder = Symbol('frozen')
    this.#frozenBy = holder
    return {
      [Symbol.dispose]: () => {
        if (this.#frozenBy === holder) this.#frozenBy = undefined
      },
    }
  }

  /** Writes entries as an index, whose packs must be durable. Others see them when it resolves. */
  publish(entries: readonly IndexEntry[], sessionId: string, signal?: AbortSignal): Promise<void> {
    if (entries.length === 0) return Promise.resolve()
    return this.#exclusively(() => this.#publishNow(entries, sessionId, signal))
  }

  async #refreshNow(signal: AbortSignal | undefined): Promise<void> {
    const { storage, crypto, clock, format } = this.#options
    const startedAt = clock.now()
    if (this.#refreshedAt > 0 && this.isStale()) await this.#options.beforeStaleRefresh?.(signal)
    const own = this.#recentOwnBlobs(startedAt)
    const load = async ({ blobs, deletionWatermark }: CompleteIndexSet) => {
      const blobNames = new Set([...blobs.map(({ id }) => id), ...own])
      const builder = this.#set.next({ blobNames, deletionWatermark })
      const add = (name: string, plaintext: Uint8Array) => builder.add(name, plaintext)
      await fetchIndexBlobs(builder.missing, { storage, crypto, signal }, add)
      return builder.build()
    }
    const next = format.epochParameters.enabled
      ? await this.epochs.withIndexSet(load, signal)
      : await load(await readLegacyIndexSet({ storage, crypto, signal }))
    this.#replace(next)
    this.#refreshedAt = startedAt
  }

  async #publishNow(entries: readonly IndexEntry[], sessionId: string, signal: AbortSignal | undefined) {
    const shards = serializeShards(entries, { version: this.#options.format.indexVersion })
    const ids = await this.epochs.writeIndex({ shards, sessionId }, signal)
    for (const id of ids) this.#ownBlobs.set(id, this.#options.clock.now())
    const { blobNames, deletionWatermark } = this.#set
    const builder = this.#set.next({ blobNames: [...blobNames, ...ids], deletionWatermark })
    const missing = new Set(builder.missing)
    for (const [position, id] of ids.entries()) {
      const shard = shards[position]
      if (shard !== undefined && missing.has(id)) builder.add(id, shard)
    }
    this.#replace(builder.build())
  }

  #recentOwnBlobs(now: number): string[] {
    for (const [id, publishedAt] of this.#ownBlobs) {
      if (now - publishedAt > ownBlobsCountFor) this.#ownBlobs.delete(id)
    }
    return [...this.#ownBlobs.keys()]
  }

  #replace(next: IndexSet): void {
    const same = next.deletionWatermark === this.#set.deletionWatermark
    const sameBlobs = next.blobNames.symmetricDifference(this.#set.blobNames).size === 0
    this.#set = next
    if (!same || !sameBlobs) this.#revision += 1
  }

  #exclusively<T>(change: () => Promise<T>): Promise<T> {
    const changing = this.#lastChange.then(change, change)
    this.#lastChange = changing.catch(() => {})
    return changing
  }
}
