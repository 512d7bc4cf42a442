import type { ObjectId } from '../object/object-id.ts'
import { objectOfContent } from '../object/object-id.ts'
import { createSplitter, type Splitter } from '../splitter/splitter.ts'
import type { UploadTarget } from './upload-options.ts'

/** How a small object is written. */
export interface SmallObjectOptions {
  prefix?: string | undefined
  compressor?: string | undefined
  metadataCompressor?: string | undefined
  splitter?: string | undefined
  signal?: AbortSignal | undefined
}

/** Writes objects that are in memory, without a promise where that is possible: small files come by the million. */
export class SmallObjectWriter {
  readonly #target: UploadTarget
  readonly #splitters = new Map<string, Splitter>()

  constructor(target: UploadTarget) {
    this.#target = target
  }

  /** The object's id, at once when nothing had to be awaited. `bytes` may change as soon as the call returns. */
  put(bytes: Uint8Array, options: SmallObjectOptions): ObjectId | Promise<ObjectId> {
    const { prefix, compressor, signal } = options
    if (!this.#isOneChunk(bytes, options.splitter)) {
      const { splitter, ...rest } = options
      return this.#target.objects.put(
        Buffer.from(bytes),
        splitter === undefined ? rest : { ...rest, splitter },
      )
    }
    const id = this.#target.contents.tryWrite(bytes, { prefix, compressor })
    if (id !== undefined) return objectOfContent(id)
    return this.#target.contents
      .write(Buffer.from(bytes), { prefix, compressor, signal })
      .then(objectOfContent)
  }

  #isOneChunk(bytes: Uint8Array, name = this.#target.repository.format.format.splitter): boolean {
    let splitter = this.#splitters.get(name)
    if (!splitter) {
      splitter = createSplitter(name)
      this.#splitters.set(name, splitter)
    }
    splitter.reset()
    const cut = splitter.nextCut(bytes)
    return cut === -1 || cut === bytes.length
  }
}
