import { compressorNameOf } from '../compression/compressor.ts'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import { PackBuilder, type PackBytes } from '../pack/pack-builder.ts'
import { idOfContent, sealContent } from './content-codec.ts'
import { ContentReader, contentNotFound } from './content-reader.ts'
import type { ContentWriter, EntriesOptions, WriteContentOptions } from './content-store.ts'
import { PackBuffers } from './pack-buffers.ts'
import {
  longestLaneContent,
  lostPack,
  type NewContent,
  type OpenLane,
  type PackLane,
  PackLanes,
} from './pack-lane.ts'
import { PackUploads } from './pack-uploads.ts'
import { UnindexedBatches } from './unindexed-batches.ts'
import { type NewPack, WriteBatch } from './write-batch.ts'
import { beginSession, type WriteSession } from './write-session.ts'
import { type ContentWriterOptions, type WriterSettings, withDefaults } from './writer-settings.ts'

/** A writer with a session of its own; others see what it wrote after `flush`. */
export function createContentWriter(options: ContentWriterOptions): SessionWriter {
  return new SessionWriter(withDefaults(options))
}

// A pack is closed when it has its full size, which its last content may exceed, and threads read ahead. More would make the
// collector run more often, since it counts whole buffers.
const packSlack = longestLaneContent + (1 << 20)
// Two contents on which nothing is decided yet come along from the pack before.
const shortestBuffer = 2 * packSlack

/** How a content is placed in a pack when it is not simply new. */
interface Placing extends WriteContentOptions {
  /** Stored again although it is known, with this mark. */
  again?: { deleted: boolean }
}

/** The writer behind `createContentWriter`. */
export class SessionWriter implements ContentWriter, AsyncDisposable {
  readonly #settings: WriterSettings
  readonly #ended = new AbortController()
  readonly #reader: ContentReader
  readonly #uploads: PackUploads
  readonly #batches = new UnindexedBatches()
  readonly #buffers: PackBuffers
  readonly #laneBuffers: PackBuffers
  readonly #lanes: PackLanes
  #beginning: Promise<void> | undefined
  #flushing: Promise<void> = Promise.resolve()
  readonly #atomicChanges = new Set<Promise<unknown>>()

  constructor(given: WriterSettings) {
    const signal = AbortSignal.any([
      this.#ended.signal,
      ...(given.signal === undefined ? [] : [given.signal]),
    ])
    const settings = { ...given, signal }
    this.#settings = settings
    this.#reader = new ContentReader({ ...settings, unindexed: this.#batches })
    this.#uploads = new PackUploads({
      storage: settings.storage,
      maxBytes: settings.maxBytesInFlight,
      signal: settings.signal,
      onStored: ({ packBlobId, release }) => {
        this.#batches.forgetPack(packBlobId)
        release?.()
      },
    })
    const { maxPackSize } = settings.format
    const bufferLength = Math.max(maxPackSize + packSlack, shortestBuffer)
    this.#buffers = new PackBuffers(bufferLength)
    this.#laneBuffers = new PackBuffers(bufferLength)
    this.#lanes = new PackLanes({
      buffers: this.#laneBuffers,
      tryAdmit: (contents, lane) => this.#tryAdmit(contents, lane),
      makeReady: wait => this.#makeReady(wait),
      openPack: kept => this.#sendAwayOpenPack(kept),
      bringHome: (batch, pack) => this.#bringHome(batch, pack),
    })
  }

  get revision(): number {
    return this.#reader.revision
  }

  async read(id: ContentId, signal?: AbortSignal): Promise<Uint8Array> {
    const entry = this.#batches.find(id)
    const pack = entry && this.#batches.packOf(entry)
    if (pack?.isAway) await this.#lanes.callBack(pack)
    return this.#reader.read(id, signal)
  }

  info(id: ContentId): IndexEntry | undefined {
    return this.#reader.info(id)
  }

  entries(options?: EntriesOptions): AsyncIterable<IndexEntry> {
    return this.#reader.entries(options)
  }

  refresh(signal?: AbortSignal): Promise<void> {
    return this.#reader.refresh(signal)
  }

  async write(data: Uint8Array, options: WriteContentOptions = {}): Promise<ContentId> {
    throwIfCancelled(options.signal)
    const id = idOfContent(this.#settings.codec, data, options.prefix)
    while (!this.#place(id, data, options)) await this.#makeReady(options.signal)
    return id
  }

  tryWrite(data: Uint8Array, options: WriteContentOptions = {}): ContentId | undefined {
    const id = idOfContent(this.#settings.codec, data, options.prefix)
    return this.#place(id, data, options) ? id : undefined
  }

  /** False, and nothing done, when something must be awaited first. */
  #place(id: ContentId, data: Uint8Array, options: Placing): boolean {
    if (this.#settings.index.isStale()) return false
    const known = this.info(id)
    if (isLive(known) && options.again === undefined) return true // deduplicated: nothing is stored
    if (!this.#isReady()) return false
    const { version: formatVersion, maxPackSize } = this.#settings.format
    const { sealed, ...sizes } = sealContent(this.#settings.codec, {
      id,
      data,
      compressor: options.compressor,
    })
    const batch = this.#batches.current
    const pack = batch.packFor(id) // no await from info() to add(): that is the lock
    const state = { ...this.#stamp(known), deleted: options.again?.deleted ?? false, formatVersion }
    batch.entries.set(id, pack.add({ contentId: id, sealed, ...sizes, ...state }))
    if (pack.length >= maxPackSize) this.#store(batch, pack) // in the background; its index entries wait for it
    return true
  }

  openLane(recall: () => Promise<void>): PackLane {
    return this.#lanes.open(recall)
  }

  #tryAdmit(contents: readonly NewContent[], lane: OpenLane): Uint8Array | undefined {
    if (this.#settings.index.isStale()) return undefined
    const { version: formatVersion } = this.#settings.format
    const admitted = new Uint8Array(contents.length)
    let ready = false
    for (const [at, content] of contents.entries()) {
      const known = this.info(content.contentId)
      if (content.packedLength === 0 || isLive(known)) continue
      ready ||= this.#isReady()
      if (!ready) return undefined
      const batch = this.#batches.current
      lane.pack ??= { batch, builder: batch.beginAway() }
      const entry = lane.pack.builder.place({ ...content, ...this.#stamp(known), formatVersion })
      batch.entries.set(content.contentId, entry)
      admitted[at] = 1
    }
    return admitted
  }

  keeps(id: ContentId): boolean | undefined {
    return this.#settings.index.isStale() ? undefined : isLive(this.info(id))
  }

  async delete(id: ContentId, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const known = this.info(id)
      if (known === undefined) throw contentNotFound(id)
      if (known.deleted) return
      if (this.#isReady()) {
        this.#batches.current.entries.set(id, { ...known, ...this.#stamp(known), deleted: true })
        return
      }
      await this.#makeReady(signal)
    }
  }

  async undelete(id: ContentId, signal?: AbortSignal): Promise<void> {
    if (isLive(this.info(id))) return
    await this.#writeAgain(id, { again: { deleted: false }, signal })
  }

  async rewrite(id: ContentId, signal?: AbortSignal): Promise<void> {
    await this.#writeAgain(id, { again: { deleted: this.info(id)?.deleted ?? false }, signal })
  }

  async atomically<T>(change: () => Promise<T>): Promise<T> {
    while (!this.#isReady()) await this.#makeReady()
    const changing = change()
    this.#atomicChanges.add(changing)
    try {
      return await changing
    } finally {
      this.#atomicChanges.delete(changing)
    }
  }

  async flush(signal?: AbortSignal): Promise<void> {
    await this.#closeBatch()
    const earlier = this.#flushing
    this.#flushing = earlier.catch(() => {}).then(() => this.#publishClosed(signal))
    await this.#flushing
  }

  /**
   * Ends the writer. What is not flushed is given up: uploads under way end, packs stored so far are left to maintenance.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await Promise.allSettled([this.#beginning, this.#flushing, this.#uploads.settled()])
    this.#batches.closeCurrent()
    for (const { session } of this.#batches.closed) await this.#endSession(session)
    this.#batches.forgetAll()
  }

  async #closeBatch(): Promise<void> {
    using _ = await this.#lanes.hold()
    while (this.#atomicChanges.size > 0) await Promise.allSettled(this.#atomicChanges)
    this.#batches.closeCurrent()
  }

  /** Packs, then the index, then the end of the session: nobody sees an entry without its pack. */
  async #publishClosed(signal: AbortSignal | undefined): Promise<void> {
    for (const batch of this.#batches.closed) {
      throwIfCancelled(signal)
      for (const pack of batch.packs.values()) if (pack.isAway) throw lostPack(pack)
      for (const pack of batch.closeAll()) this.#store(batch, pack)
      await this.#uploads.finish([...batch.packs.keys()], signal)
      await this.#settings.index.publish([...batch.entries.values()], batch.session.id, signal)
      this.#batches.forget(batch)
      await this.#endSession(batch.session)
    }
  }

  #store(batch: WriteBatch, pack: PackBuilder, buffers = this.#buffers): void {
    batch.close(pack)
    const { packBlobId, parts: data } = pack.finish()
    const { room } = pack
    this.#uploads.start({ packBlobId, data, release: () => room && buffers.give(room) })
  }

  #sendAwayOpenPack(
    kept: number,
  ): { batch: WriteBatch; builder: PackBuilder; buffer: PackBytes } | undefined {
    const batch = this.#batches.hasCurrent ? this.#batches.current : undefined
    const builder = batch?.takeOpenData(this.#settings.format.maxPackSize - kept)
    const buffer = builder?.sendAway()
    return batch && builder && buffer && { batch, builder, buffer }
  }

  #bringHome(batch: WriteBatch, pack: PackBuilder): void {
    const fate = batch.bringHome(pack, this.#settings.format.maxPackSize)
    if (fate === 'full') this.#store(batch, pack, this.#laneBuffers)
    else this.#laneBuffers.give(fate === 'merged' ? pack.room : undefined)
  }

  async #writeAgain(id: ContentId, options: Placing): Promise<void> {
    const data = await this.read(id, options.signal)
    const compressor = compressorNameOf(this.info(id)?.compressionId ?? 0)
    while (!this.#place(id, data, { ...options, compressor })) await this.#makeReady(options.signal)
  }

  /** A later time than every entry of the content that others may know. */
  #stamp(known: IndexEntry | undefined): { timestamp: number } {
    const now = Math.floor(this.#settings.clock.now() / 1000)
    // An unknown content may have an entry that the watermark hides; it is no later than the watermark.
    const previous = known?.timestamp ?? this.#settings.index.deletionWatermark
    return { timestamp: Math.max(now, previous + 1) }
  }

  #isReady(): boolean {
    if (!this.#batches.hasCurrent || this.#isFlushDue()) return false
    return this.#uploads.ready
  }

  #isFlushDue(): boolean {
    if (!this.#batches.hasCurrent || this.#atomicChanges.size > 0) return false
    const { session, entries } = this.#batches.current
    // A clock that was set, forwards or back, is compared with the storage's when the next session begins.
    const age = Math.abs(this.#settings.clock.now() - session.startedAt)
    return age > this.#settings.flushAfter || entries.size >= this.#settings.flushEntries
  }

  /** Does the one thing that is in the way of writing. */
  async #makeReady(signal?: AbortSignal): Promise<void> {
    throwIfCancelled(signal)
    throwIfCancelled(this.#settings.signal)
    if (this.#settings.index.isStale()) await this.refresh(this.#settings.signal)
    else if (!this.#batches.hasCurrent) await this.#begin()
    else if (this.#isFlushDue()) await this.flush(signal)
    else await this.#uploads.wait(signal)
  }

  #begin(): Promise<void> {
    this.#beginning ??= beginSession(this.#settings)
      .then(session => this.#batches.open(new WriteBatch(session, (...wanted) => this.#newPack(...wanted))))
      .finally(() => {
        this.#beginning = undefined
      })
    return this.#beginning
  }

  #newPack(...[prefix, session, away]: Parameters<NewPack>): PackBuilder {
    const { crypto, format, randomBytes } = this.#settings
    const name = Buffer.from(randomBytes(16)).toString('hex')
    const settings = { ...crypto, indexVersion: format.indexVersion, randomBytes }
    return new PackBuilder(
      `${prefix}${name}-${session.id}`,
      settings,
      away ? undefined : this.#buffers.take(),
    )
  }

  /** A marker that stays does no harm: maintenance removes it later. */
  async #endSession({ marker }: WriteSession): Promise<void> {
    try {
      await this.#settings.storage.delete(marker)
    } catch (cause) {
      const error = new RepoError('STORAGE_FAILED', {
        message: `Session marker ${marker} stays`,
        blobId: marker,
        cause,
      })
      this.#settings.onIgnoredError(error)
    }
  }
}

/** A deleted entry is no reason to leave a content out: its pack may be gone soon. */
function isLive(entry: IndexEntry | undefined): boolean {
  return entry !== undefined && !entry.deleted
}
