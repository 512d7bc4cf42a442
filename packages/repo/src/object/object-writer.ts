import type { ContentWriter, WriteContentOptions } from '../content/content-store.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { createSplitter, type Splitter } from '../splitter/splitter.ts'
import { type Chunk, serializeIndirect } from './indirect.ts'
import { type ObjectId, objectOfContent, objectOfIndex } from './object-id.ts'
import { chunksOf } from './object-reader.ts'

/** How an object is split and stored. */
export interface ObjectWriterOptions {
  /** The splitter's name, from the repository's format or a policy. */
  splitter: string
  /** The splitter of index objects, which is the repository's; `splitter` when absent. */
  indexSplitter?: string | undefined
  /** A letter `g` to `z` for metadata, such as `k` for directories; absent for file data. */
  prefix?: string | undefined
  compressor?: string | undefined
  /** For index objects: `zstd-fastest` when absent, none when empty. */
  metadataCompressor?: string | undefined
  signal?: AbortSignal | undefined
}

/** Writes one object from start to end. Throws what `ContentWriter.write` throws. */
export interface ObjectWriter {
  /** Appends bytes; they may be changed when it has resolved. */
  write(bytes: Uint8Array): Promise<void>
  /** An object of the chunks cut so far, or undefined when there is none. Writing goes on. */
  checkpoint(): Promise<ObjectId | undefined>
  /** Stores the rest. The writer takes no more. */
  finish(): Promise<ObjectId>
}

// No splitter cuts before half of its smallest average, 128 KiB.
const neverCutBelow = 64 << 10

/** A writer of one object. Holds one chunk, and a second one while the contents are not ready to take it. */
export function createObjectWriter(contents: ContentWriter, options: ObjectWriterOptions): ObjectWriter {
  return new ChunkingWriter(contents, options)
}

/** Stores bytes that are in memory already as an object, without copying them. They must not change meanwhile. */
export async function writeObject(
  contents: ContentWriter,
  bytes: Uint8Array,
  options: ObjectWriterOptions,
): Promise<ObjectId> {
  if (bytes.length < neverCutBelow)
    return objectOfContent(await contents.write(bytes, contentOptions(options)))
  const splitter = createSplitter(options.splitter)
  const chunks: Chunk[] = []
  for (let start = 0; start < bytes.length; ) {
    const cut = splitter.nextCut(bytes.subarray(start))
    const chunk = cut < 0 ? bytes.subarray(start) : bytes.subarray(start, start + cut)
    const content = await contents.write(chunk, contentOptions(options))
    chunks.push({ start, length: chunk.length, object: objectOfContent(content) })
    start += chunk.length
  }
  return objectOfChunks(contents, chunks, options)
}

/**
 * One object that holds the bytes of several, one after the other, without reading their data. Throws as `openObject`
 * does, and `INVALID_ARGUMENT` without any object.
 */
export async function concatenate(
  contents: ContentWriter,
  ids: readonly ObjectId[],
  options: ObjectWriterOptions,
): Promise<ObjectId> {
  const [first] = ids
  if (first === undefined) {
    throw new RepoError('INVALID_ARGUMENT', { message: 'There are no objects to concatenate' })
  }
  if (ids.length === 1) return first
  const chunks: Chunk[] = []
  for (const id of ids) {
    const offset = endOf(chunks)
    for (const chunk of await chunksOf(contents, id, options.signal)) {
      chunks.push({ ...chunk, start: chunk.start + offset })
    }
  }
  return writeIndex(contents, chunks, { ...options, prefix: undefined })
}

/**
 * The object that consists of these chunks, which must be in order and without gaps: the only one of them, or a new index
 * object.
 */
export async function objectOfChunks(
  contents: ContentWriter,
  chunks: readonly Chunk[],
  options: ObjectWriterOptions,
): Promise<ObjectId> {
  const [only] = chunks
  return only !== undefined && chunks.length === 1 ? only.object : writeIndex(contents, chunks, options)
}

async function writeIndex(
  contents: ContentWriter,
  chunks: readonly Chunk[],
  options: ObjectWriterOptions,
): Promise<ObjectId> {
  const { metadataCompressor = 'zstd-fastest' } = options
  const index = await writeObject(contents, serializeIndirect(chunks), {
    ...options,
    splitter: options.indexSplitter ?? options.splitter,
    prefix: options.prefix || 'x',
    compressor: metadataCompressor,
  })
  return objectOfIndex(index)
}

function contentOptions({ prefix, compressor, signal }: ObjectWriterOptions): WriteContentOptions {
  return { prefix, compressor: compressor || undefined, signal }
}

function endOf(chunks: readonly Chunk[]): number {
  const last = chunks.at(-1)
  return last === undefined ? 0 : last.start + last.length
}

class ChunkingWriter implements ObjectWriter {
  readonly #contents: ContentWriter
  readonly #options: ObjectWriterOptions
  readonly #splitter: Splitter
  readonly #chunks: Chunk[] = []
  #buffer: Uint8Array = new Uint8Array(0)
  #used = 0
  #storing: Promise<void> | undefined
  #finished: Promise<ObjectId> | undefined

  constructor(contents: ContentWriter, options: ObjectWriterOptions) {
    this.#contents = contents
    this.#options = options
    this.#splitter = createSplitter(options.splitter)
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#finished !== undefined)
      throw new RepoError('INVALID_ARGUMENT', { message: 'The object is finished already' })
    for (let rest = bytes; rest.length > 0; ) {
      const cut = this.#splitter.nextCut(rest)
      if (cut < 0) return this.#keep(rest)
      await this.#cut(rest.subarray(0, cut))
      rest = rest.subarray(cut)
    }
  }

  async checkpoint(): Promise<ObjectId | undefined> {
    await this.#storing
    if (this.#chunks.length === 0) return undefined
    return objectOfChunks(this.#contents, [...this.#chunks], this.#options)
  }

  finish(): Promise<ObjectId> {
    this.#finished ??= this.#finishNow()
    return this.#finished
  }

  async #finishNow(): Promise<ObjectId> {
    if (this.#used > 0 || this.#chunks.length === 0) await this.#cut(new Uint8Array(0))
    await this.#storing
    return objectOfChunks(this.#contents, this.#chunks, this.#options)
  }

  async #cut(tail: Uint8Array): Promise<void> {
    const borrowed = this.#used === 0
    if (!borrowed) this.#keep(tail)
    const chunk = borrowed ? tail : this.#buffer.subarray(0, this.#used)
    this.#used = 0
    await this.#storing
    const content = this.#contents.tryWrite(chunk, contentOptions(this.#options))
    if (content !== undefined) this.#append(content, chunk.length)
    else this.#storeBehind(borrowed ? new Uint8Array(chunk) : this.#handOver(chunk))
  }

  /** Lets the caller fetch more bytes while the contents wait for the storage. */
  #storeBehind(chunk: Uint8Array): void {
    this.#storing = this.#contents
      .write(chunk, contentOptions(this.#options))
      .then(content => this.#append(content, chunk.length))
    // It fails where it is awaited: at the next cut, checkpoint or finish.
    this.#storing.catch(() => {})
  }

  #append(content: ContentId, length: number): void {
    this.#chunks.push({ start: endOf(this.#chunks), length, object: objectOfContent(content) })
    this.#storing = undefined
  }

  #handOver(chunk: Uint8Array): Uint8Array {
    this.#buffer = new Uint8Array(0)
    return chunk
  }

  #keep(bytes: Uint8Array): void {
    const needed = this.#used + bytes.length
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(
        Math.max(needed, Math.min(2 * this.#buffer.length, this.#splitter.maxSegment)),
      )
      grown.set(this.#buffer.subarray(0, this.#used))
      this.#buffer = grown
    }
    this.#buffer.set(bytes, this.#used)
    this.#used = needed
  }
}
