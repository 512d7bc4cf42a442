import { RepoError } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import type { PackBuilder } from '../pack/pack-builder.ts'
import type { UnindexedContents } from './content-reader.ts'
import type { WriteBatch } from './write-batch.ts'

/** The batches of one writer that no index shows yet: the current one, and closed ones on their way. */
export class UnindexedBatches implements UnindexedContents {
  #closed: WriteBatch[] = []
  #current: WriteBatch | undefined

  /** Oldest first. */
  get closed(): readonly WriteBatch[] {
    return [...this.#closed]
  }

  get hasCurrent(): boolean {
    return this.#current !== undefined
  }

  /** The batch that takes what is written. Ask `hasCurrent` first. */
  get current(): WriteBatch {
    if (this.#current === undefined) throw new RepoError('INVALID_ARGUMENT', { message: 'No batch is open' })
    return this.#current
  }

  open(batch: WriteBatch): void {
    this.#current = batch
  }

  /** What is written from now on goes to another batch. */
  closeCurrent(): void {
    if (this.#current !== undefined) this.#closed.push(this.#current)
    this.#current = undefined
  }

  forget(batch: WriteBatch): void {
    this.#closed = this.#closed.filter(other => other !== batch)
  }

  forgetAll(): void {
    this.#closed = []
    this.#current = undefined
  }

  /** A pack is durable: its bytes come from the storage from now on. */
  forgetPack(packBlobId: string): void {
    for (const batch of this.#newestFirst()) batch.packs.delete(packBlobId)
  }

  find(id: ContentId): IndexEntry | undefined {
    const entry = this.#current?.entries.get(id)
    return entry ?? this.#closed.findLast(batch => batch.entries.has(id))?.entries.get(id)
  }

  /** The pack that holds a content and is not durable yet. */
  packOf({ packBlobId }: IndexEntry): PackBuilder | undefined {
    return this.#newestFirst()
      .find(batch => batch.packs.has(packBlobId))
      ?.packs.get(packBlobId)
  }

  sealed(entry: IndexEntry): Uint8Array | undefined {
    for (const batch of this.#newestFirst()) {
      const bytes = batch.sealed(entry)
      if (bytes !== undefined) return bytes
    }
    return undefined
  }

  *entries(): Iterable<IndexEntry> {
    const seen = new Set<ContentId>()
    for (const batch of this.#newestFirst()) {
      for (const [id, entry] of batch.entries) {
        if (!seen.has(id)) yield entry
        seen.add(id)
      }
    }
  }

  #newestFirst(): WriteBatch[] {
    const closed = this.#closed.toReversed()
    return this.#current === undefined ? closed : [this.#current, ...closed]
  }
}
