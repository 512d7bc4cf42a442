import type { ContentWriter } from '../content/content-store.ts'
import { isRepoError } from '../errors/repo-error.ts'
import { type ObjectId, objectId, parseObjectId } from '../object/object-id.ts'
import { chunksOf } from '../object/object-reader.ts'

/**
 * Tells which objects of earlier snapshots a new one may take over. Maintenance marks contents deleted when the snapshot they
 * came from was deleted during this upload: taken over, they would be gone by the time that the new snapshot is
 * complete. Storing their data again brings them back.
 */
export class KeptObjects {
  readonly #contents: ContentWriter
  readonly #signal: AbortSignal | undefined

  constructor(contents: ContentWriter, signal: AbortSignal | undefined) {
    this.#contents = contents
    this.#signal = signal
  }

  /**
   * True when every content of the object is there and not marked deleted; at once where nothing must be read. Throws
   * CANCELLED and what refreshing the indexes throws.
   */
  ask(object: ObjectId): boolean | Promise<boolean> {
    const { indirection, contentId } = parseObjectId(object)
    if (indirection > 0) return this.#askAll(object)
    const kept = this.#contents.keeps(contentId)
    return kept ?? this.#askAll(object)
  }

  async #askAll(object: ObjectId): Promise<boolean> {
    const contents = this.#contents
    const parts = await this.#partsOf(object)
    if (parts === undefined) return false
    // All are asked of one state of the indexes; only a refresh leads to another.
    const keepsAll = () => {
      let known = true
      for (const { contentId } of parts) {
        const kept = contents.keeps(contentId)
        if (kept === false) return false
        if (kept === undefined) known = false
      }
      return known ? true : undefined
    }
    for (;;) {
      const kept = keepsAll()
      if (kept !== undefined) return kept
      await contents.refresh(this.#signal)
    }
  }

  /** Every content that the object needs, those of its index objects included; undefined when they cannot be told. */
  async #partsOf(object: ObjectId): Promise<ReturnType<typeof parseObjectId>[] | undefined> {
    const parts: ReturnType<typeof parseObjectId>[] = []
    const waiting = [object]
    try {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const part = parseObjectId(next)
        if (part.indirection === 0) {
          parts.push(part)
          continue
        }
        waiting.push(objectId(next.slice(1)))
        for (const chunk of await chunksOf(this.#contents, next, this.#signal)) waiting.push(chunk.object)
      }
      return parts
    } catch (error) {
      if (isRepoError(error) && error.code !== 'CANCELLED') return undefined
      throw error
    }
  }
}
