import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../clock/clock.ts'
import type { ContentWriter } from '../../content/content-store.ts'
import { RepoError, throwIfCancelled } from '../../errors/repo-error.ts'
import type { Chunk } from '../../object/indirect.ts'
import { type ObjectId, objectId, parseObjectId } from '../../object/object-id.ts'
import { chunksOf, openObject, type ObjectReader as StoredObject } from '../../object/object-reader.ts'
import {
  createObjectWriter,
  objectOfChunks,
  type ObjectWriter as SequentialWriter,
} from '../../object/object-writer.ts'
import {
  ObjectBackupMode,
  type ObjectWriteOptions,
  type ObjectWriter,
  type RepoId,
  WritePriority,
} from '../backup-repo.ts'

/** What a writer writes into. */
export interface ObjectTarget {
  readonly contents: ContentWriter
  /** The repository's splitter. */
  readonly splitter: string
  readonly clock: Pick<Clock, 'now'>
}

const zeros = new Uint8Array(1 << 20)
// Writers must not go by an index that is older, or maintenance may have collected what they reuse.
const longestView = 15 * 60_000

/**
 * A writer of one object that may leave out ranges. Without seeking, the object is the same as any other with
 * these bytes. In the incremental mode, whole chunks of the parent that lie in a range left out become chunks
 * of the new object without being read; only what a chunk sticks out of the range is copied. Throws
 * `INVALID_ARGUMENT` when mode and parent do not go together.
 */
export function seekableObjectWriter(target: ObjectTarget, options: ObjectWriteOptions = {}): ObjectWriter {
  const incremental = options.backupMode === ObjectBackupMode.incremental
  if (incremental !== (options.parentObject !== undefined)) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: incremental
        ? 'An incremental write needs the object it goes by'
        : 'Only an incremental write goes by a parent object',
      hint: 'give parentObject together with the backup mode incremental',
    })
  }
  return new SeekableObjectWriter(target, options)
}

class SeekableObjectWriter implements ObjectWriter {
  readonly #target: ObjectTarget
  readonly #options: ObjectWriteOptions
  readonly #chunks: Chunk[] = []
  #position = 0
  /** Bytes from `start` on that are not chunks yet. */
  #literal: { readonly start: number; readonly writer: SequentialWriter } | undefined
  #parent: ParentObject | undefined
  #viewedAt: number
  #state: 'open' | 'ended' = 'open'

  constructor(target: ObjectTarget, options: ObjectWriteOptions) {
    this.#target = target
    this.#options = options
    this.#viewedAt = target.clock.now()
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#requireOpen()
    if (this.#options.priority === WritePriority.low) await nextTurn()
    await this.#writeLiteral(bytes)
  }

  async seek(offset: number, origin: 'start' | 'current' = 'start'): Promise<number> {
    this.#requireOpen()
    const target = origin === 'current' ? this.#position + offset : offset
    if (!Number.isSafeInteger(target) || target < this.#position) {
      throw new RepoError('INVALID_RANGE', {
        message: `An object is written from front to back: at ${this.#position} there is no way to ${target}`,
        hint: 'write the ranges in ascending order',
      })
    }
    const parent = await this.#openParent()
    if (parent !== undefined) await this.#reuse(parent, Math.min(target, parent.length))
    while (this.#position < target) await this.#writeLiteral(zeros.subarray(0, target - this.#position))
    return this.#position
  }

  async checkpoint(): Promise<RepoId | undefined> {
    this.#requireOpen()
    const written = await this.#literal?.writer.checkpoint()
    const tail = written === undefined ? [] : await this.#shifted(written, this.#literal?.start ?? 0)
    const chunks = [...this.#chunks, ...tail]
    return chunks.length === 0 ? undefined : asRepoId(await this.#store(chunks))
  }

  async result(): Promise<RepoId> {
    this.#requireOpen()
    this.#state = 'ended'
    if (this.#chunks.length === 0) return asRepoId(await this.#literalWriter().finish())
    await this.#endLiteral()
    return asRepoId(await this.#store(this.#chunks))
  }

  async close(): Promise<void> {
    this.#state = 'ended'
    this.#literal = undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #writeLiteral(bytes: Uint8Array): Promise<void> {
    throwIfCancelled(this.#options.signal)
    await this.#literalWriter().write(bytes)
    this.#position += bytes.length
  }

  #literalWriter(): SequentialWriter {
    this.#literal ??= {
      start: this.#position,
      writer: createObjectWriter(this.#target.contents, this.#writerOptions()),
    }
    return this.#literal.writer
  }

  async #endLiteral(): Promise<void> {
    const literal = this.#literal
    this.#literal = undefined
    if (literal === undefined) return
    this.#chunks.push(...(await this.#shifted(await literal.writer.finish(), literal.start)))
  }

  async #openParent(): Promise<ParentObject | undefined> {
    const { parentObject, signal } = this.#options
    if (parentObject === undefined) return undefined
    this.#parent ??= await openParent(this.#target.contents, objectId(parentObject), signal)
    return this.#parent
  }

  /**
   * Takes the parent's bytes from the position to `end`: by reference where a chunk fits, else by copying.
   */
  async #reuse(parent: ParentObject, end: number): Promise<void> {
    while (this.#position < end) {
      throwIfCancelled(this.#options.signal)
      await this.#renewView()
      const chunk = parent.chunkAt(this.#position)
      const chunkEnd = chunk.start + chunk.length
      if (chunk.start === this.#position && chunkEnd <= end && this.#isLive(chunk)) {
        await this.#endLiteral()
        this.#chunks.push(chunk)
        this.#position = chunkEnd
      } else {
        const length = Math.min(chunkEnd, end) - this.#position
        await this.#writeLiteral(await parent.reader.read(this.#position, length, this.#options.signal))
      }
    }
  }

  async #renewView(): Promise<void> {
    const { clock, contents } = this.#target
    if (clock.now() - this.#viewedAt < longestView) return
    await contents.refresh(this.#options.signal)
    this.#viewedAt = clock.now()
  }

  /**
   * A deleted content may vanish before the new object is part of a snapshot; its bytes must be written
   * again.
   */
  #isLive(chunk: Chunk): boolean {
    const entry = this.#target.contents.info(parseObjectId(chunk.object).contentId)
    return entry !== undefined && !entry.deleted
  }

  async #shifted(object: ObjectId, start: number): Promise<Chunk[]> {
    const chunks = await chunksOf(this.#target.contents, object, this.#options.signal)
    return chunks.filter(({ length }) => length > 0).map(chunk => ({ ...chunk, start: chunk.start + start }))
  }

  #store(chunks: readonly Chunk[]): Promise<ObjectId> {
    return objectOfChunks(this.#target.contents, chunks, this.#writerOptions())
  }

  #writerOptions() {
    const { prefix, signal } = this.#options
    return { splitter: this.#target.splitter, prefix: prefix || undefined, signal }
  }

  #requireOpen(): void {
    if (this.#state === 'open') return
    throw new RepoError('INVALID_ARGUMENT', { message: 'The object is finished or closed already' })
  }
}

interface ParentObject {
  readonly reader: StoredObject
  readonly length: number
  /** The chunk that holds a byte. Offsets must not descend from call to call. */
  chunkAt(offset: number): Chunk
}

async function openParent(
  contents: ContentWriter,
  id: ObjectId,
  signal: AbortSignal | undefined,
): Promise<ParentObject> {
  const reader = await openObject(contents, id, signal)
  const chunks = await directChunks(contents, id, signal)
  let index = 0
  return {
    reader,
    length: reader.length,
    chunkAt(offset) {
      for (;;) {
        const chunk = chunks[index]
        if (chunk === undefined)
          throw new RepoError('CORRUPT', { message: `Object ${id} has no byte ${offset}`, objectId: id })
        if (offset < chunk.start + chunk.length) return chunk
        index += 1
      }
    },
  }
}

/** The chunks of an object with those that are lists of chunks themselves resolved. */
async function directChunks(
  contents: ContentWriter,
  id: ObjectId,
  signal: AbortSignal | undefined,
): Promise<Chunk[]> {
  const direct: Chunk[] = []
  for (const chunk of await chunksOf(contents, id, signal)) {
    if (parseObjectId(chunk.object).indirection === 0) {
      direct.push(chunk)
    } else {
      const inner = await directChunks(contents, chunk.object, signal)
      for (const part of inner) direct.push({ ...part, start: part.start + chunk.start })
    }
  }
  return direct
}

function asRepoId(id: ObjectId): RepoId {
  return id as string as RepoId
}
