import { decompress } from '../compression/compressor.ts'
import type { ContentStore } from '../content/content-store.ts'
import { corrupt, isRepoError, RepoError } from '../errors/repo-error.ts'
import { type Chunk, parseIndirect } from './indirect.ts'
import { type ObjectId, type ObjectIdParts, objectId, parseObjectId } from './object-id.ts'

/** Which part of an object `stream` yields. */
export interface StreamOptions {
  offset?: number | undefined
  /** To the end when absent. */
  length?: number | undefined
  /** Chunks fetched ahead of the one in use; 1 when absent. */
  readAhead?: number | undefined
  signal?: AbortSignal | undefined
}

/** Reads an object at any position. Keeps one chunk between calls. */
export interface ObjectReader {
  readonly id: ObjectId
  readonly length: number
  /**
   * Up to `length` bytes from `offset`; fewer only at the end of the object. Throws what `ContentStore.read` throws, and
   * `CORRUPT` when a chunk is not as long as the object says.
   */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /** The bytes in order, a chunk at a time. The pieces must not be changed. */
  stream(options?: StreamOptions): AsyncIterable<Uint8Array>
}

// An index object of 4 MiB chunks lists some 70,000 of them, so three levels hold more than any volume.
const deepestIndex = 8

/** Opens an object. Throws `OBJECT_NOT_FOUND` when its first content is missing, `CORRUPT` for a damaged index object. */
export function openObject(
  contents: ContentStore,
  id: ObjectId,
  signal?: AbortSignal,
): Promise<ObjectReader> {
  return openAt(contents, id, { depth: 0, signal })
}

/**
 * All bytes of an object, or only its length when that is another than expected. Throws as `openObject` and
 * `ObjectReader.read` do.
 */
export async function readObjectOf(
  contents: ContentStore,
  id: ObjectId,
  { length, signal }: { length: number; signal?: AbortSignal | undefined },
): Promise<{ length: number; bytes?: Uint8Array }> {
  const { indirection, compressed, contentId } = parseObjectId(id)
  const only = indirection === 0 && !compressed ? contents.info(contentId) : undefined
  if (only?.originalLength === length) return { length, bytes: await contents.read(contentId, signal) }
  const reader = await openObject(contents, id, signal)
  if (reader.length !== length) return { length: reader.length }
  return { length, bytes: await reader.read(0, length, signal) }
}

/** The chunks of an object: those its index object lists, or itself as the only one. Throws as `openObject` does. */
export async function chunksOf(contents: ContentStore, id: ObjectId, signal?: AbortSignal): Promise<Chunk[]> {
  const { indirection } = parseObjectId(id)
  if (indirection > 0) return readIndex(contents, id, { depth: 0, signal })
  const { length } = await openObject(contents, id, signal)
  return [{ start: 0, length, object: id }]
}

interface OpenContext {
  depth: number
  signal: AbortSignal | undefined
}

async function openAt(contents: ContentStore, id: ObjectId, context: OpenContext): Promise<ObjectReader> {
  const parts = parseObjectId(id)
  if (parts.indirection === 0) return openContent(contents, id, { ...parts, signal: context.signal })
  const chunks = await readIndex(contents, id, context)
  return new ChunkReader(id, chunks, (chunk, signal) => readChunk(contents, chunk, { ...context, signal }))
}

async function readIndex(contents: ContentStore, id: ObjectId, context: OpenContext): Promise<Chunk[]> {
  if (context.depth >= deepestIndex)
    throw corrupt(`Object ${id} has too many levels of index`, { objectId: id })
  const index = await openAt(contents, objectId(id.slice(1)), { ...context, depth: context.depth + 1 })
  try {
    return parseIndirect(await index.read(0, index.length, context.signal))
  } catch (cause) {
    if (!isRepoError(cause, 'CORRUPT') || cause.contentId !== undefined) throw cause
    throw corrupt(`The index object of ${id} cannot be used. ${cause.message}`, { objectId: id, cause })
  }
}

type ContentOptions = ObjectIdParts & { signal: AbortSignal | undefined }

async function openContent(
  contents: ContentStore,
  id: ObjectId,
  options: ContentOptions,
): Promise<ObjectReader> {
  const { contentId, compressed } = options
  const entry = contents.info(contentId)
  if (entry === undefined) {
    throw new RepoError('OBJECT_NOT_FOUND', {
      message: `Object ${id} is not in the repository`,
      hint: 'run verify to see which snapshots need it',
      objectId: id,
      contentId,
    })
  }
  const load = async (signal?: AbortSignal) => {
    const bytes = await contents.read(contentId, signal)
    return compressed ? decompress(bytes) : bytes
  }
  // The index knows the length of what is stored; before the compression inside only the bytes themselves tell.
  const first = compressed ? await load(options.signal) : undefined
  const chunk: Chunk = { start: 0, length: first?.length ?? entry.originalLength, object: id }
  return new ChunkReader(id, [chunk], (_, signal) => load(signal), first)
}

async function readChunk(contents: ContentStore, chunk: Chunk, context: OpenContext): Promise<Uint8Array> {
  const object = await openAt(contents, chunk.object, { ...context, depth: context.depth + 1 })
  return object.read(0, object.length, context.signal)
}

type LoadChunk = (chunk: Chunk, signal?: AbortSignal) => Promise<Uint8Array>

class ChunkReader implements ObjectReader {
  readonly id: ObjectId
  readonly length: number
  readonly #chunks: readonly Chunk[]
  readonly #load: LoadChunk
  #held: { chunk: Chunk; bytes: Uint8Array } | undefined

  // biome-ignore lint/complexity/useMaxParams: private to this file; an options object would only rename them
  constructor(id: ObjectId, chunks: readonly Chunk[], load: LoadChunk, first?: Uint8Array) {
    const last = chunks.at(-1)
    const head = chunks[0]
    this.id = id
    this.length = last === undefined ? 0 : last.start + last.length
    this.#chunks = chunks
    this.#load = load
    if (first !== undefined && head !== undefined) this.#held = { chunk: head, bytes: first }
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const end = Math.min(this.length, offset + length)
    if (offset < 0 || length < 0)
      throw new RepoError('INVALID_RANGE', { message: `Object ${this.id} has no byte ${offset}` })
    if (offset >= end) return new Uint8Array(0)
    let index = this.#indexAt(offset)
    const only = await this.#chunkAt(index, signal)
    if (offset === only.start && end === only.start + only.bytes.length) return only.bytes
    const result = new Uint8Array(end - offset)
    for (let at = offset; at < end; index += 1) {
      const { start, bytes } = await this.#chunkAt(index, signal)
      const piece = bytes.subarray(at - start, end - start)
      result.set(piece, at - offset)
      at += piece.length
    }
    return result
  }

  async *stream({ offset = 0, length = this.length, readAhead = 1, signal }: StreamOptions = {}) {
    const end = Math.min(this.length, offset + length)
    const loading: Promise<Uint8Array>[] = []
    // The same chunk follows on itself where a file has holes.
    let last: { chunk: Chunk; bytes: Promise<Uint8Array> } | undefined
    let next = this.#indexAt(offset)
    for (let index = next; offset < end; index += 1) {
      for (
        ;
        next < this.#chunks.length && next <= index + readAhead && this.#startOf(next) < end;
        next += 1
      ) {
        const chunk = this.#chunks[next] as Chunk
        if (last?.chunk.object !== chunk.object || last.chunk.length !== chunk.length) {
          last = { chunk, bytes: this.#fetch(next, signal) }
        }
        loading.push(last.bytes)
      }
      const bytes = (await loading.shift()) ?? new Uint8Array(0)
      const start = this.#startOf(index)
      const piece = bytes.subarray(offset - start, end - start)
      offset += piece.length
      if (piece.length > 0) yield piece
    }
  }

  async #chunkAt(index: number, signal: AbortSignal | undefined) {
    const chunk = this.#chunks[index] as Chunk
    if (this.#held?.chunk !== chunk) this.#held = { chunk, bytes: await this.#fetch(index, signal) }
    return { start: chunk.start, bytes: this.#held.bytes }
  }

  #fetch(index: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const chunk = this.#chunks[index] as Chunk
    if (this.#held?.chunk === chunk) return Promise.resolve(this.#held.bytes)
    const loading = this.#load(chunk, signal).then(bytes => {
      if (bytes.length === chunk.length) return bytes
      const sizes = `${bytes.length} bytes where the object says ${chunk.length}`
      throw corrupt(`Chunk ${chunk.object} of object ${this.id} has ${sizes}`, { objectId: this.id })
    })
    // A chunk fetched ahead fails where it is used; until then the failure is not unhandled.
    loading.catch(() => {})
    return loading
  }

  #startOf(index: number): number {
    return this.#chunks[index]?.start ?? this.length
  }

  /** The last chunk that starts at or before the offset and is not empty. */
  #indexAt(offset: number): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >> 1
      const chunk = this.#chunks[middle] as Chunk
      if (chunk.start + chunk.length <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
}
